"""What is said of a run, a comparison, a history: typed, complete, the same for every writer."""

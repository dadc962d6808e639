"""What a reader sees: one document of a run, and its writers for the terminal, Markdown, HTML and JSON."""

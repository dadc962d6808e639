"""Who holds memory: peaks, owners, leaks, fragments."""

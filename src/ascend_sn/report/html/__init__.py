"""Self-contained HTML pages, and what a notebook shows."""

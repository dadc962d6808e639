"""One screen of text."""

"""Markdown for pull requests and wikis."""

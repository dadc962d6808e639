"""Runs as Chrome traces, for Perfetto and every tool of that format."""

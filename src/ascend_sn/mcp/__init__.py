"""Answers for agents over the Model Context Protocol; needs the extra `mcp`."""

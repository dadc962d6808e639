"""The web page and its HTTP API: pages over runs that the user named, read only."""

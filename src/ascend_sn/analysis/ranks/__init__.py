"""How ranks differ: stragglers, waits, pairs, pipeline stages."""

"""Output of the cluster analysis of other tools: figures of every rank, without the captures they come from."""

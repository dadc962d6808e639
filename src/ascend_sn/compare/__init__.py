"""Two runs to differences, a verdict and a gate."""

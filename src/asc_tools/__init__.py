"""The published name `asc_tools`: see `asc_tools.profiler`."""

"""The published name `ascend`: see `ascend.profiler`."""

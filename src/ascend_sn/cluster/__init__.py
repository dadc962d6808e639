"""Apply a function to every rank: in other processes, on other machines, or in the shards of a launcher.

Anything with the interface of `concurrent.futures.Executor` will do. What the function computes is not known here.
"""

"""The compiled core: interval sets, nesting, trace scanning, longest paths, the span ring, pyramids.

Arrays in, arrays out, no policy inside. Importing this package loads nothing; each module beside it is
imported by name, and only those that hand out arrays need numpy.
"""

"""Output of the msprof command line: `PROF_*` folders with text exports or a database."""

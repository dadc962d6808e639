"""From the results of the analyses to the document of a run, a module for each section."""

"""Chrome trace-event JSON: what its readers share, and the reader for traces of unknown writers."""

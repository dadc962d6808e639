"""The recorder's own files: `train.trace` (an Arrow stream of events) and `names.trace` (their texts)."""

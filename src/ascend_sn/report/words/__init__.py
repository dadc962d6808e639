"""The reader's language: sentences, numbers with units, names made harmless."""

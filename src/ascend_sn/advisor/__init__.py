"""From analysis results to statements; texts are rendered later, in the reader's language."""

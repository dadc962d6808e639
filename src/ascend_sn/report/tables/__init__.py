"""Tables of the documents: as cells of text for pages, as raw figures for spreadsheets and files."""

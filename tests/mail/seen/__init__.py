"""Pages that show text in ways of which a reader may not think: a table, and families of pages."""

"""Man pages and completion for shells, written from the grammar that parses when the project is built."""

"""The store of lessons in SQLite."""

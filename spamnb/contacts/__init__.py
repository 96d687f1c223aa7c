"""Whom a person has in an address book: vCard files → addresses."""

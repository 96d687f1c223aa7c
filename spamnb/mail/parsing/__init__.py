"""Turn bytes into a `Message`: MIME, header fields, charsets."""

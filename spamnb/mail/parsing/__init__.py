"""From bytes to a `Message`: MIME, header fields, charsets."""

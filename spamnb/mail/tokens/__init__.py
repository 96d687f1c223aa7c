"""Turn a `Message` into tokens."""

"""From a `Message` to tokens."""

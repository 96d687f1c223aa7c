"""Turn bytes into a `Message`, and a `Message` into tokens. Pure: no disk, no clock, no configuration."""

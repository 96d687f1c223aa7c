"""What a message says: bytes to Message to tokens. Pure: no disk, no clock, no configuration."""

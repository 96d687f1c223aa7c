"""What a message holds: bytes to Message to tokens. Pure: no disk, no clock, no configuration."""

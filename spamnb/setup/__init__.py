"""Setting up: systemd units, and proposals for a configuration."""

"""What is installed beside the program: units, and proposals for a configuration."""

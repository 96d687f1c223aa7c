"""What several commands share: arguments, output, logging."""

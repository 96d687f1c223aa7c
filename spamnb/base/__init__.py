"""What all rooms share: errors, labels, how times and numbers are printed, files written whole, patterns, sockets."""

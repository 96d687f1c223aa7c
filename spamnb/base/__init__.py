"""What all rooms share: errors, labels, wording of times and numbers, safe file writing, patterns, sockets."""

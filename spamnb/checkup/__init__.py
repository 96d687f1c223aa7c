"""Find what is wrong, and say what to do about it."""

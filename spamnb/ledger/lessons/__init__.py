"""What was learned: lessons, their tokens and counts; several hosts may share it."""

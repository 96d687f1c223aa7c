"""Lessons with their tokens, and counts; several hosts may share them."""

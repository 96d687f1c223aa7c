"""What a person types: the only room that prints, reads arguments, or exits."""

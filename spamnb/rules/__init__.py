"""What a place, a silence and a verdict mean. Pure: values in, a decision out."""

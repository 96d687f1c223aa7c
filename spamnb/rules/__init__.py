"""The meaning of a place, a silence and a verdict. Pure: values in, a decision out."""

"""Numbers as a person types them."""

import argparse

_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


def number(text: str) -> int:
    """A whole number."""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def count(text: str) -> int:
    """A whole number above 0."""
    found = number(text)
    if found == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return found


def at_least_two(text: str) -> int:
    """A whole number of 2 or more."""
    found = number(text)
    if found < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 2 or more")
    return found


def several(text: str) -> list[int]:
    """Whole numbers, divided by commas."""
    return [number(part.strip()) for part in text.split(",")]


def size(text: str) -> int:
    """Bytes; K, M and G are powers of a thousand."""
    unit = text[-1:].upper()
    digits = text[:-1] if unit in _UNITS else text
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12 or not int(digits):
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 500K, 200M or 1G")
    return int(digits) * _UNITS.get(unit, 1)

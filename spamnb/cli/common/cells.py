"""How many columns of a terminal a text takes."""


def width_of(text: str) -> int:
    """Return the columns of a text, in which some letters take two, or none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)

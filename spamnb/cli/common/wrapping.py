"""Break sentences at words, so that a terminal does not break them within a word.

What a person may copy stays on one line, however long: what is between backquotes, and a command at the end of a line.
"""

from spamnb.cli.common.cells import width_of

_PROGRAMS = {"spamnb", "systemctl", "sudo", "podman", "docker", "kill"}


def wrapped(text: str, columns: int, hanging: int | None = None) -> str:
    """Return text whose lines have at most that many columns, if their words allow it.

    hanging: the indent of what follows the first line; None: that of the line. Lines of a table, with gaps of several
    blanks, stay whole unless `hanging` is given.

    >>> print(wrapped("It moves nothing. To begin: spamnb init --learn", 24))
    It moves nothing. To
    begin:
    spamnb init --learn
    """
    return "\n".join(_wrapped(line, columns, hanging) for line in text.split("\n"))


def _wrapped(line: str, columns: int, hanging: int | None) -> str:
    body = line.lstrip(" ")
    if not body or width_of(line) <= columns or (hanging is None and "  " in body.rstrip()):
        return line
    indent = " " * (len(line) - len(body) if hanging is None else hanging)
    first, *pieces = _pieces(body.rstrip(" "))
    lines = [line[: len(line) - len(body)] + first]
    for piece in pieces:
        if width_of(lines[-1]) + 1 + width_of(piece) <= columns:
            lines[-1] += f" {piece}"
        else:
            lines.append(indent + piece)
    return "\n".join(lines) + " " * (len(body) - len(body.rstrip(" ")))


def _pieces(text: str) -> list[str]:
    """Return the words of a text, and what stays together."""
    text, command = _command_at_end(text)
    pieces: list[str] = []
    is_open = False  # between backquotes
    for word in text.split(" ") if text else []:
        if is_open:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
        is_open ^= word.count("`") % 2 == 1
    return [*pieces, command] if command else pieces


def _command_at_end(text: str) -> tuple[str, str]:
    before, colon, after = text.rpartition(": ")
    program = after.partition(" ")[0].rpartition("/")[2]
    return (f"{before}:", after) if colon and program in _PROGRAMS else (text, "")

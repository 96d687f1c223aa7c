"""The output of `doveconf -n`, of Dovecot 2.3 and 2.4, as nested blocks.

Dovecot's own files may include others and hold variables. `doveconf` prints all of them, expanded. So this reads a
smaller language: `key = value`, `kind name {`, `}`, and comments.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from spamnb.base.errors import ConfigError
from spamnb.base.wording import escaped

_HIDDEN = "# hidden"  # in the place of a password's value


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its kind, such as `namespace`, its name or "", its values, and its inner blocks in their order."""

    kind: str
    name: str
    values: dict[str, str] = field(default_factory=dict)
    blocks: list["Block"] = field(default_factory=list)

    def of_kind(self, kind: str) -> list["Block"]:
        """Return the blocks of a kind that are directly in this block."""
        return [block for block in self.blocks if block.kind == kind]

    def get(self, key: str) -> str:
        """Return a value, or "" if it is not set."""
        return self.values.get(key, "")


def parse(text: str) -> Block:
    """Return the blocks in the output of `doveconf -n`. Raises ConfigError if a block does not end."""
    root = Block("", "")
    open_blocks = [root]
    lines = iter(text.split("\n"))
    for line in map(str.strip, lines):
        here = open_blocks[-1]
        if not line or line.startswith("#"):
            continue
        if line == "}":
            if here is root:
                raise ConfigError("the output of doveconf has a } without a block: run doveconf -n and look")
            open_blocks.pop()
        elif " = " in line or line.endswith(" ="):
            key, _, value = line.partition(" =")
            here.values[key] = _value(value.strip(), lines)
        elif line.endswith("{"):
            kind, _, name = line[:-1].strip().partition(" ")
            block = Block(kind, _plain(name.strip()))
            here.blocks.append(block)
            open_blocks.append(block)
    if len(open_blocks) > 1:
        raise ConfigError(f"the output of doveconf ends inside the block {escaped(open_blocks[-1].kind)}")
    return root


def _value(written: str, lines: Iterator[str]) -> str:
    """Return a value without its quotes. If it goes on over several lines, read these too."""
    if written.startswith(_HIDDEN):
        return ""
    if written.startswith("<<") and (end := written.lstrip("<-").strip("\"' ")):
        return "\n".join(_until(end, lines))
    if written.startswith('"'):
        while not _is_closed(written):
            more = next(lines, None)
            if more is None:
                break
            written += "\n" + more
    return _plain(written)


def _until(end: str, lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.strip() == end:
            return
        yield line


def _is_closed(written: str) -> bool:
    """Return whether a value that begins with a quotation mark ends with a closing one."""
    inside = written[1:].rstrip()
    ending = inside.removesuffix('"')
    return ending != inside and (len(ending) - len(ending.rstrip("\\"))) % 2 == 0


def _plain(written: str) -> str:
    r"""Return the text between quotation marks, without the backslashes before quotation marks and backslashes.

    >>> _plain(r'"\\Junk"'), _plain(r"\Junk"), _plain('"Junk E-mail"')
    ('\\Junk', '\\Junk', 'Junk E-mail')
    """
    if len(written) < 2 or not (written.startswith('"') and written.endswith('"')):
        return written
    plain, quoted = [], False
    for sign in written[1:-1]:
        if quoted and sign not in '"\\':
            plain.append("\\")
        if sign != "\\" or quoted:
            plain.append(sign)
        quoted = sign == "\\" and not quoted
    return "".join(plain)

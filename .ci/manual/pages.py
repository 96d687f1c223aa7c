"""The man pages: the Markdown beside this file, with the commands, options and keys from the program itself."""

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml
from roff import roff

from spamnb import __version__
from spamnb.cli.common.arguments import ABOUT, COMMANDS, GROUPS, parser_of, program
from spamnb.config.keys import wanted
from spamnb.config.writing import example
from spamnb.spamd.protocol import Command as Request

_HERE = Path(__file__).parent
_HEAD = "# The configuration of spamnb."  # the beginning of the example


def pages() -> dict[str, str]:
    """Return the text of each page by its path below a prefix such as /usr."""
    parts, made = _parts(), {}
    release = __version__.partition("+")[0]  # the pages are committed: a build between releases has those of the last
    for path in sorted(_HERE.glob("*.md")):
        markdown = path.read_text(encoding="utf-8").format(**parts)
        made[f"share/man/man{path.stem[-1]}/{path.stem}"] = roff(markdown, release)
    return made


def _parts() -> dict[str, str]:
    """Return the texts for the braces in the pages, as Markdown."""
    web = parser_of("web")
    return {
        "about": ABOUT,
        "summaries": _blocks(map(_group, GROUPS)),
        "options": _options(program()._get_optional_actions()),
        "commands": _blocks(_command(name) for name in COMMANDS),
        "keys": _blocks(_keys("")),
        "requests": ", ".join(Request),
        "spamd_keys": _blocks(_keys("spamd.")),
        "web_usage": _usage(web),
        "web_about": str(web.description),
        "web_options": _options(_arguments(web)),
        "web_example": _example(web),
    }


def _blocks(blocks: Iterable[str]) -> str:
    return "\n\n".join(filter(None, blocks))


def _term(term: str, explanation: str) -> str:
    return f"{term}\n: {explanation}"


def _sentence(written: str) -> str:
    return written[0].upper() + written[1:] + ("" if written.endswith(".") else ".")


def _group(heading: str) -> str:
    summaries = (_term(f"`{name}`", _sentence(summary)) for name, summary in GROUPS[heading].items())
    return _blocks([f"### {heading}", *summaries])


def _command(name: str) -> str:
    parser = parser_of(name)
    listed = [_options(_arguments(parser))]
    for group in _more_groups(parser):
        listed += [f"{str(group.title).capitalize()}:", _options(group._group_actions)]
    return _blocks((f"### {name}", _usage(parser), str(parser.description), *listed, _example(parser)))


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments without --help, which one place describes for all commands, and without groups."""
    apart = [action for group in _more_groups(parser) for action in group._group_actions]
    usual = [*parser._get_optional_actions()[1:], *parser._get_positional_actions()]
    return [action for action in usual if action not in apart]


def _more_groups(parser: argparse.ArgumentParser) -> list[argparse._ArgumentGroup]:
    return parser._action_groups[2:]  # behind the operands and the options


def _example(parser: argparse.ArgumentParser) -> str:
    return str(parser.epilog).removeprefix("example:\n").rstrip()


def _usage(parser: argparse.ArgumentParser) -> str:
    more = ["[*OPTION*...]"] if _more_groups(parser) else []
    return " ".join([f"`{parser.prog}`", *more, *map(_in_usage, _arguments(parser))])


def _in_usage(action: argparse.Action) -> str:
    flags, is_repeated = action.option_strings, action.nargs in ("*", "+")
    shown = (f"`{flags[-1]}` " if flags else "") + _value(action)
    shown = shown.rstrip() + ("..." if is_repeated else "")
    is_needed = action.required if flags else action.nargs not in ("?", "*")
    return shown if is_needed else f"[{shown}]"


def _value(action: argparse.Action) -> str:
    """Return the placeholder for the value of an option, or for an operand."""
    if action.nargs == 0:
        return ""
    name = action.metavar or action.dest.upper()
    shown = "|".join(f"`{choice}`" for choice in action.choices) if action.choices else f"*{name}*"
    return f"[{shown}]" if action.option_strings and action.nargs == "?" else shown


def _options(actions: Iterable[argparse.Action]) -> str:
    return _blocks(_term(_names(action), _sentence(str(action.help))) for action in actions)


def _names(action: argparse.Action) -> str:
    return f"{', '.join(f'`{flag}`' for flag in action.option_strings)} {_value(action)}".strip()


def _keys(section: str) -> Iterator[str]:
    """Yield each key of a section, or of all sections with their headings, in the order of the example."""
    text, meanings = example(of_host=True), wanted()
    lines, seen = text.splitlines(), 0
    for name, key, value in _nodes(yaml.compose(text, yaml.SafeLoader), ""):
        about = _comment_above(lines, key.start_mark.line)
        if not section:
            yield from _comments_apart(lines[seen : key.start_mark.line])
        seen = key.start_mark.line
        written = text[value.start_mark.index : value.end_mark.index].strip()
        if name in meanings and name.startswith(section):
            default = "" if "\n" in written else f" Default: `{written}`."
            yield _term(f"`{name}`", f"{' '.join(about.split())} Write {meanings[name]}.{default}")
        elif name not in meanings and not section:
            yield _blocks((f"### {name}", about))


def _nodes(node: yaml.Node | None, above: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Yield each key with its value; below `mailboxes` only those of its first item, and nothing below `roles`."""
    if isinstance(node, yaml.SequenceNode) and node.value:
        yield from _nodes(node.value[0], above)
    if isinstance(node, yaml.MappingNode) and not above.endswith("roles."):
        for key, value in node.value:
            yield f"{above}{key.value}", key, value
            yield from _nodes(value, f"{above}{key.value}.")


def _comments_apart(lines: list[str]) -> Iterator[str]:
    """Yield the comments that belong to no key, since an empty line follows; without the one at the head."""
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", "\n".join(lines))[:-1]]
    for block in blocks:
        if all(line.lstrip().startswith("#") for line in block) and block and not block[0].startswith(_HEAD):
            yield " ".join(line.strip().strip("#- ") for line in block)


def _comment_above(lines: list[str], line: int) -> str:
    """Return the comment directly above a line."""
    first = line
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return textwrap.dedent("\n".join(text.lstrip().removeprefix("#") for text in lines[first:line]))

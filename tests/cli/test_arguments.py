"""Help, usage errors, and how long the help takes."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from spamnb import __version__
from spamnb.base.errors import UsageError
from spamnb.cli.common import arguments
from spamnb.cli.common.argument_types import moment as _moment
from spamnb.cli.common.arguments import ALIASES, COMMANDS, GROUPS, parser_of, program
from spamnb.cli.common.other_words import _HINTS, _MEANT, _TOLD, WORKING
from tests.cli.conftest import Run, costs
from tests.table import over_rows


def test_contract() -> None:
    """The commands are those of the contract."""
    contract = (
        "demo init run config help choose train untrain score filter explain status history undo verify pause resume"
        " audit review statement doctor users backup restore export import exchange prune install-unit evaluate compare"
        " replay web"
    )
    assert sorted(COMMANDS) == sorted(contract.split())


@pytest.mark.parametrize("arguments", [(), ("-v",), ("--config", "c.yaml"), ("",)])
def test_without_a_command(run: Run, arguments: tuple[str, ...]) -> None:
    """`spamnb` alone names the five commands to begin with, one per line, and ends with 64."""
    result = run(*arguments)
    assert (result.code, result.out) == (64, "")
    named = [line.partition("  ")[0] for line in map(str.strip, result.err.splitlines())]
    assert named == ["spamnb init", "spamnb run", "spamnb web --open", "spamnb status", "spamnb help"]


def test_help_has_six_groups(run: Run) -> None:
    """`spamnb help` shows each command once, in six groups; `compare` is left to the help of `evaluate`."""
    shown = run("help").out
    listed = re.findall(r"^(\w[\w ]+):$|^  ([a-z-]+)  +\S", shown, re.MULTILINE)
    headings = [heading for heading, _ in listed if heading]
    assert headings[:6] == list(GROUPS) == [
        "start",
        "every day",
        "teach",
        "in mail software",
        "look after it",
        "measure",
    ]  # fmt: skip
    names = [name for _, name in listed if name in COMMANDS]
    assert sorted(names) == sorted(set(COMMANDS) - {"compare", "help"})
    assert "spamnb compare" in run("help", "evaluate").out
    assert "positional" not in shown


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_other_names(run: Run, alias: str, name: str) -> None:
    """`learn` is `train` and `forget` is `untrain`, as other filters call them; the help of both says so."""
    assert run(alias, "--help") == run(name, "--help") == run("help", alias)
    assert f"`spamnb {alias}` is the same command." in run(alias, "--help").out
    assert (run(alias).code, run(alias).err) == (64, run(name).err)


def test_evaluate_shows_three_options(run: Run) -> None:
    """`evaluate` shows three options; --help-all shows the others below "for research" and "on several machines"."""
    shown = run("help", "evaluate").out
    names = re.findall(r"^  (?:-h, )?(\S+)", shown[shown.index("arguments:") : shown.index("example:")], re.MULTILINE)
    assert names == ["CORPUS", "--help", "--at-most-one-ham-in", "--json", "--help-all"]
    whole = run("evaluate", "--help-all")
    assert whole.code == 0
    assert whole.out.index("options:") < whole.out.index("for research:") < whole.out.index("on several machines:")
    assert "--help-all" not in run("help", "train").out


@over_rows(
    ("typed", "instead"),
    [
        (["block", "*@shop.example"], ["choose", "block", "*@shop.example"]),
        (["allow", "*@shop.example"], ["choose", "allow", "*@shop.example"]),
        (["why", "m"], ["explain", "m"]),
        (["check", "m"], ["score", "m"]),
        (["classify", "m"], ["score", "m"]),
        (["test", "m"], ["score", "m"]),
    ],
)
def test_words_that_people_try_first(typed: list[str], instead: list[str]) -> None:
    """Such a word does what its command does, and `help` shows that command."""
    tried, meant = vars(arguments.parse(typed)), vars(arguments.parse(instead))
    assert tried == meant
    assert arguments.named_by(typed[0]) == instead[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), ("--config", "other.yaml", "-q")),
        (("-q",), ("--config", "other.yaml")),
        (("--config", "other.yaml"), ("--quiet",)),
        (("--config", "c.yaml", "-q"), ("--config", "other.yaml")),
    ],
)
def test_options_before_and_after_the_command(
    home: Path, run: Run, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """-q, -v, --config and --user mean the same before and after the command; the last --config counts."""
    (home / "other.yaml").write_text("mailboxes: 3\n")
    result = run(*before, "doctor", *after)
    assert "other.yaml" in result.out
    assert "\nno " not in result.out, "which -q leaves out"
    assert run("score", "--user", "anna", home / "other.yaml") == run("--user", "anna", "score", home / "other.yaml")


@pytest.mark.parametrize("arguments", [("-v", "status", "-q"), ("status", "-q", "-v"), ("-q", "status", "--verbose")])
def test_verbose_and_quiet_exclude_each_other(run: Run, arguments: tuple[str, ...]) -> None:
    """-q and -v together are refused, wherever they are."""
    result = run(*arguments)
    assert (result.code, "not allowed with" in result.err) == (64, True)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_command(run: Run, name: str) -> None:
    """`spamnb help COMMAND` prints what `spamnb COMMAND --help` does."""
    words = [name] if name else []
    asked = run("help", *words)
    assert asked == run(*words, "--help")
    assert (asked.code, asked.err) == (0, "")


def test_version(run: Run) -> None:
    """-V is --version."""
    assert run("-V") == run("--version")
    assert run("-V").out == f"spamnb {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example(run: Run, name: str) -> None:
    """Every command has help with an example of itself, and each of its options says what it does."""
    result = run(name, "--help")
    assert result.code == 0
    assert f"{COMMANDS[name]}.".lower() in result.out.lower(), "what the list of commands has"
    assert f"example:\n  spamnb {name}" in result.out
    assert all(action.help for action in parser_of(name)._actions)
    assert max(map(len, result.out.splitlines())) <= 110


def test_help_names_examples_and_exit_codes(run: Run) -> None:
    """The help begins with what to do first, and names the exit codes."""
    result = run("--help")
    assert "spamnb demo" in result.out
    assert "exit codes:" in result.out
    assert "2 unsure" in run("score", "--help").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",),
        ("score", "--bogus", "x"),
        ("-v", "-q", "status"),
        ("train", "x"),
        ("undo",),
        ("undo", "--since", "1h", "17"),
        ("undo", "--since", "the other day"),
        ("undo", "-1"),
        ("undo", "x"),
        ("undo", "--only", "moves", "17"),
        ("pause", "soon"),
        ("pause", "0h"),
        ("history", "--since", "the other day"),
        ("history", "--verdict", "bad"),
        ("undo", "9" * 30),
        ("history", "--limit", "0"),
        ("history", "--limit", "many"),
        ("explain", "a", "b"),
        ("init", "--learn", "--no-learn"),
        ("score", "-", "-"),
    ],
)
def test_wrong_calls_end_with_64(run: Run, arguments: tuple[str, ...]) -> None:
    """A wrong call ends with 64 and says what is wrong. It never ends with 2, the code for unsure."""
    result = run(*arguments)
    assert (result.code, result.out) == (64, "")
    assert result.err.startswith("spamnb: ")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("scroe", "x"), "there is no command 'scroe'. Did you mean `spamnb score`? All commands: spamnb help"),
        (("gmail",), "there is no command 'gmail'. Did you mean `spamnb init --imap USER@HOST`? All commands: spamnb"),
        (("newsletters",), "Did you mean `spamnb choose newsletters_folder`? All commands: spamnb help"),
        (("statistics",), "Did you mean `spamnb status`?"),
        (("stricter",), "Did you mean `spamnb choose spam_cutoff`?"),
        (("reset",), "Did you mean `spamnb init --fresh`?"),
        (("health",), "Did you mean `spamnb doctor`?"),
        (("host",), "Did you mean `spamnb init --host`?"),
        (("Whitelist", "x"), "there is no command 'Whitelist'. Did you mean `spamnb choose allow SENDER`? All"),
        (
            ("not-spam", "x"),
            "Move the message out of Junk in your mail program: the filter learns that, and never moves",
        ),
        (("Not_Spam", "x"), "`spamnb choose allow SENDER`. All commands: spamnb help"),
        (
            ("move",),
            "there is no command 'move'. To a new machine: `spamnb backup FILE` here, then `spamnb restore",
        ),
        (("cost",), "spamnb is free (MIT licence). `spamnb status` shows how much of the disk it uses. All commands"),
        (
            ("delete-junk",),
            "there is no command 'delete-junk'. The filter deletes no mail: docs/questions.md says how to let your",
        ),
        (("password",), "there is no command 'password'. A new password of your provider goes into ~/.mbsync-password"),
        (("phone",), "there is no command 'phone'. On the phone, move mail in any mail program: the filter learns"),
        (("xyzzy",), "there is no command 'xyzzy'. All commands: spamnb help"),
        (("help", "nosuch"), "there is no command 'nosuch'. All commands: spamnb help"),
        (("status", "--user", "an na"), "'an na' cannot be the name of a user; help: spamnb status --help"),
        (("status", "extra"), "unrecognized arguments: extra; help: spamnb status --help"),
        (("score", "--frob", "x"), "unrecognized arguments: --frob; help: spamnb score --help"),
        (("--frob", "score", "x"), "unrecognized arguments: --frob; help: spamnb --help"),
        (("help", "scroe"), "there is no command 'scroe'. Did you mean `spamnb score`? All commands: spamnb help"),
        (
            ("why", "bank"),
            "standard input. To find a message: spamnb history bank. The pages say why: spamnb web --open",
        ),
    ],
)
def test_likely_mistakes_are_named(run: Run, arguments: tuple[str, ...], says: str) -> None:
    """A misspelt command is answered with the one that was meant, and an unknown option with the help to read."""
    assert says in run(*arguments).err


@over_rows(("word", "told"), list(_HINTS.items()))
def test_hints_name_what_exists(word: str, told: str) -> None:
    """A hint names commands with options that they have, and no command has its word as a name."""
    assert word not in {*COMMANDS, *ALIASES, *WORKING}
    for named in re.findall(r"`spamnb ([^`]+)`", told):
        command, *others = ["help", *named.split()] if named.startswith("--") else named.split()
        parser = program() if named.startswith("--") else parser_of(command)
        options = {option for action in parser._actions for option in action.option_strings}
        assert command in COMMANDS
        assert {other for other in others if other.startswith("-")} <= options


def test_a_word_has_one_hint() -> None:
    """No word is listed twice, with two hints."""
    listed = [word for words in (*_MEANT.values(), *_TOLD) for word in words.split()]
    assert len(listed) == len(set(listed)) == len(_HINTS)


def test_usage_errors_are_safe_to_show(run: Run) -> None:
    """Text that is quoted from a wrong call cannot control the terminal."""
    assert "\x1b" not in run("status", "--\x1b[31m").err


def test_help_is_quick(process: Run) -> None:
    """`spamnb --help` takes less than 9 times what a Python takes that does nothing; it takes 4 times as much.

    benchmarks/prompt.py measures the seconds.
    """
    assert costs(process, "--help") < 9


@pytest.mark.parametrize(
    ("text", "before_now"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("3D", 259_200), (" 1w ", 604_800)],
)
def test_spans(text: str, before_now: float) -> None:
    """A time may be a span before now."""
    assert _moment(text, 10_000_000.0) == 10_000_000.0 - before_now


def test_dates() -> None:
    """A time may be a date, a date with a time, today, or yesterday; all in local time."""
    now = datetime(2026, 3, 5, 15, 30)
    midnight = datetime(2026, 3, 5)
    assert _moment("today", now.timestamp()) == midnight.timestamp()
    assert _moment("Yesterday", now.timestamp()) == (midnight - timedelta(days=1)).timestamp()
    assert _moment("2026-01-31", now.timestamp()) == datetime(2026, 1, 31).timestamp()
    assert _moment("2026-01-31 12:00", now.timestamp()) == datetime(2026, 1, 31, 12).timestamp()


@pytest.mark.parametrize("text", ["", "soon", "1y", "-1h", "2026-13-01", "0001-01-01", "9" * 40 + "h", "١h"])
def test_no_times(text: str) -> None:
    """A text that is not a time is refused."""
    with pytest.raises(UsageError, match="is not a time"):
        _moment(text, 10_000_000.0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9" * 16, "is too large"),
        ("9" * 5000, "is too large"),
        ("0", "'0' is too small: it must be 1 or more"),
        ("-5", "'-5' is too small: it must be 1 or more"),
        ("-" + "9" * 5000, "is too small: it must be 1 or more"),
        ("1.5", "'1.5' is not a whole number"),
        ("١", "is not a whole number"),
        ("", "'' is not a whole number"),
    ],
)
def test_numbers(run: Run, text: str, why: str) -> None:
    """A number that cannot be right is refused, with the reason."""
    result = run("history", "--limit", text)
    assert (result.code, why in result.err) == (64, True)

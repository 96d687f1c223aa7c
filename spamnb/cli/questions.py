"""Messages that a person is to be asked about: shown as lines, as JSON, or asked at a terminal."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from spamnb.audit.answers import Answer, Answers, Done
from spamnb.audit.findings import Finding, contradictions
from spamnb.cli.context import command, open_ledger, open_to_read
from spamnb.cli.output import as_json, is_terminal, warn
from spamnb.config import Config
from spamnb.errors import MaildirError
from spamnb.filter import Clue
from spamnb.label import Label
from spamnb.ledger.ledger import Ledger
from spamnb.wording import escaped, plural

JSON_HELP = "one JSON object a line: path, label, probability, weak, clues, message, digest"
Find = Callable[[Ledger, Config], list[Finding]]
_KEYS = {"r": Answer.RIGHT, "m": Answer.OTHERWISE, "f": Answer.FORGET, "n": Answer.NEVER}
_QUESTION = "[r]ight, [m]ove and learn otherwise, [f]orget, [n]ever ask again, [s]top, Enter: later? "


def ask_or_show(find: Find, nothing: str, options: argparse.Namespace, at_once: int | None = None) -> int:
    """Ask about what `find` finds at a terminal, again until nothing is left; elsewhere only show it.

    at_once: how many are asked about before it finds again.
    """
    is_asking = not options.json and not options.quiet and is_terminal(sys.stdin) and is_terminal(sys.stdout)
    config, ledger = open_ledger(options) if is_asking else open_to_read(options)
    if ledger is None:
        if not options.json:
            print(nothing)
        return 0
    with ledger:
        found = find(ledger, config)
        if options.json:
            for one in found:
                print(as_json(as_object(one)))
        elif not found:
            print(nothing)
        elif is_asking:
            _ask_all(ledger, config, found, find, at_once)
        else:
            for number, one in enumerate(found, 1):
                print("\n".join(_lines(one, f"{number}.")))
    return 0


def where_to_look_first(options: argparse.Namespace) -> str:
    """That mail that was learned looks as if it were filed wrongly, in words; "" where none does."""
    config, ledger = open_to_read(options)
    if ledger is None:
        return ""
    with ledger:
        number = contradictions(ledger, config.scoring)
    looks = "looks as if it were" if number == 1 else "look as if they were"
    return f"{plural(number, 'message')} {looks} filed wrongly. Look first: {command(options)} audit" if number else ""


def as_object(one: Finding) -> dict[str, object]:
    """A finding for JSON."""
    return {
        "path": None if one.place is None else one.place.path,
        "label": one.label.word,
        "probability": round(one.judgement.probability, 6),
        "weak": one.weak,
        "clues": [
            {"token": clue.token, "ham": clue.ham, "spam": clue.spam, "log_odds": round(clue.log_odds, 6)}
            for clue in one.clues
        ],
        "message": one.summary,
        "digest": one.digest.hex(),
    }


def _ask_all(ledger: Ledger, config: Config, found: Sequence[Finding], find: Find, at_once: int | None) -> None:
    """Ask about all findings, and then about those that the answers have brought up, until a person stops."""
    answers = Answers(ledger, config)
    asked: set[tuple[bytes, Label]] = set()
    try:
        while some := [one for one in found if (one.digest, one.label) not in asked][:at_once]:
            if asked:
                print(f"\nWith what you have said, {plural(len(some), 'more message')} to look at:")
            asked.update((one.digest, one.label) for one in some)
            if not _ask(answers, some):
                return
            found = find(ledger, config)
        print("That was all.")
    finally:
        answers.end()


def _ask(answers: Answers, found: Sequence[Finding]) -> bool:
    """Ask about each; whether the person has not stopped."""
    for number, one in enumerate(found, 1):
        print("\n".join(("", *_lines(one, f"{number} of {len(found)}:"))))
        while True:
            try:
                typed = input(_QUESTION).strip().lower()
            except EOFError:
                print()
                return False
            if typed in ("", "s") or typed in _KEYS:
                break
        if typed == "s":
            return False
        if typed:
            _give(answers, one, _KEYS[typed])
    return True


def _give(answers: Answers, one: Finding, answer: Answer) -> None:
    try:
        done = answers.give(one, answer)
    except MaildirError as fault:
        warn(f"that was not done: {fault}")
        return
    print(" ".join(_said(done)))


def _said(done: Done) -> Iterator[str]:
    if done.stays:
        yield f"Learned; the file stays: {escaped(done.stays)}."
    yield f"To take that back: spamnb undo {' '.join(map(str, reversed(done.actions)))}"


def _lines(one: Finding, number: str) -> Iterable[str]:
    how = " weakly" if one.weak else ""
    yield f"{number} {escaped(one.summary)}"
    yield f"   called {one.label.word}{how}; without it, the probability of spam is {one.judgement.probability:.4f}"
    yield f"   {'where it lies is not known' if one.place is None else escaped(one.place.path)}"
    if one.clues:
        yield f"   {'; '.join(map(_clue, one.clues))}"


def _clue(clue: Clue) -> str:
    return f"{escaped(clue.token)} (ham {clue.ham}, spam {clue.spam})"

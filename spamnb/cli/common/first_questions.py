"""The dialogue of `init` about mail that was there before the filter: which of it is spam?

It asks at a terminal only. A decision moves nothing: that is a question of its own, at the end.
"""

import argparse
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from spamnb.acts.answers import WHY, Answers
from spamnb.acts.current_files import CurrentFiles
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.base.wording import escaped, plural
from spamnb.cli.common.config_and_ledger import command, open_ledger
from spamnb.cli.common.message_text import file_of, screens
from spamnb.cli.common.output import is_confirmed, is_dialogue, progress, say, table, typed_at, warn
from spamnb.config import Config
from spamnb.filter.leave_one_out import JudgedWithoutItself
from spamnb.ledger.ledger import Ledger
from spamnb.review import first_lessons
from spamnb.review.first_questions import (
    ROWS,
    SCREENS,
    FirstQuestion,
    FirstQuestions,
    answer,
    first_questions,
    in_both,
    in_both_kinds,
)
from spamnb.rules import weak_lessons

KEYS = "[v 3] view, [s] stop, Enter leaves them"
_OWN_ROWS = 6  # of a screen with a message


def may_ask(options: argparse.Namespace) -> bool:
    """Tell whether somebody is there to answer."""
    return not options.quiet and is_dialogue()


def is_trusted(server: str, options: argparse.Namespace) -> bool:
    """Tell whether the person wants a mail server's Authentication-Results to count; no if nobody can be asked."""
    what = f"\nYour mail server at {escaped(server)} checks who signed a message. A newsletter that it vouches for"
    what += " looks like spam to a new filter. Keep such newsletters out of Junk, until you move one there?"
    return may_ask(options) and is_confirmed(what, default=True)


class Undecided(Enum):
    """What a person does with questions instead of an answer."""

    LEFT = "left"  # Enter: go on to the next questions
    STOPPED = "stopped"


class _Asking(NamedTuple):
    """What a screen of questions needs. folders: the names of folders, by their directories."""

    answers: Answers
    ledger: Ledger
    config: Config
    folders: Mapping[str, str]
    options: argparse.Namespace


def ask(folders: Mapping[str, str], options: argparse.Namespace) -> list[bytes]:
    """Ask about what was learned since `first_lessons.begin`. Returns the messages that are spam, by their identities.

    folders: the names of folders, by their directories.
    """
    config, ledger = open_ledger(options)
    with ledger:
        asking = _Asking(Answers(ledger, config), ledger, config, folders, options)
        spam, is_stopped = _ask_about_both(asking)
        return spam if is_stopped else [*spam, *_ask_about_doubted(asking)]


def _ask_about_both(asking: _Asking) -> tuple[list[bytes], bool]:
    """Ask about messages in folders of both kinds. Returns those that are spam, and whether the person stops."""
    spam, found = list[bytes](), in_both(asking.ledger, asking.config.scoring)
    if found:
        say(f"\n{in_both_kinds(len(found))}")
    for first in range(0, len(found), ROWS):
        asked = found[first : first + ROWS]
        chosen = _ask_screen(asking, asked)
        if chosen is Undecided.STOPPED:
            return spam, True
        if chosen is not Undecided.LEFT:
            spam += _decide(asking, asked, chosen)
    return spam, False


def _ask_about_doubted(asking: _Asking) -> list[bytes]:
    """Ask about messages of ham folders, until the person stops or says that none is spam. Returns those that are."""
    ledger, spam, left = asking.ledger, list[bytes](), set[bytes]()
    ham, junk = ledger.lessons.totals()[:2].tolist()
    has_little = weak_lessons.has_little(ham, junk)
    for number in range(SCREENS):
        asked = [digest for digest in first_lessons.unsorted(ledger) if digest not in left]
        scoring = asking.config.scoring
        found = first_questions(ledger.lessons, scoring, asked, has_little=has_little, shown=looking)
        if not found:
            break
        if not number:
            say(f"\n{FirstQuestions(tuple(found), junk if has_little else None).introduction}")
        chosen = _ask_screen(asking, found[:ROWS])
        if chosen is Undecided.STOPPED:
            break
        if chosen is Undecided.LEFT:
            left.update(digest for question in found[:ROWS] for digest in question.copies)
            continue
        decided = _decide(asking, found[:ROWS], chosen)
        spam += decided
        if not decided:
            break
    return spam


def looking(judged: Iterable[JudgedWithoutItself]) -> Iterable[JudgedWithoutItself]:
    """Show at a terminal that messages are being judged."""
    return progress(judged, "looking for spam", False)


def offer_to_move(spam: Sequence[bytes], options: argparse.Namespace) -> None:
    """Ask whether the messages that the person has called spam shall be moved to the spam folder, and do it."""
    if not spam or not is_confirmed(f"Move the {len(spam)} to Junk?", default=True):
        return
    config, ledger = open_ledger(options)
    with ledger:
        answers, ids = Answers(ledger, config), []
        for digest in spam:
            try:
                done = answers.call(digest, Label.SPAM)
            except MaildirError as fault:
                warn(f"a message was not moved: {fault}")
                continue
            if done.stays:
                warn(escaped(done.stays))
            ids.append(done.answer)
        answers.end()
    say(f"To undo: {_undo(ids, options)}")


def _ask_screen(asking: _Asking, asked: Sequence[FirstQuestion]) -> frozenset[int] | Undecided:
    """Ask about at most ten messages. Returns the numbers, from 0, of those that are spam."""
    current = CurrentFiles(asking.ledger, asking.config, [question.copies[0] for question in asked])
    files = [[file.path for file in current.of(question.copies[0])] for question in asked]
    rows = []
    for number, (question, paths) in enumerate(zip(asked, files, strict=True), 1):
        there = dict.fromkeys(asking.folders.get(os.path.dirname(os.path.dirname(path)), "") for path in paths)
        shown = "" if question.probability is None else f"{question.probability:.2f}"
        rows.append(
            (str(number), f"{question.summary} {question.alike}".rstrip(), ", ".join(filter(None, there)), shown)
        )
    print(f"\n{table(rows, is_cut=True)}")
    prompt = "Is this spam? [y] yes, [n] no"
    if len(asked) > 1:
        prompt = f"Are these {len(asked)} spam? [y] all, [n] none, or the numbers of those that are"
    viewed = [(next(iter(paths), None), question.copies[0]) for paths, question in zip(files, asked, strict=True)]
    return choose(f"{prompt}; {KEYS}: ", viewed)


def choose(
    prompt: str, asked: Sequence[tuple[str | None, bytes]], *, excluding: bool = False
) -> frozenset[int] | Undecided:
    """Return the numbers, from 0, that a person chooses of the messages of a table.

    Enter leaves them, as in all dialogues: nobody has decided. It says so, since no other line follows.

    asked: the path of each message, or None, and its identity. excluding: typed numbers are those that the person does
    not choose.
    """
    while True:
        try:
            typed = typed_at(prompt)
        except EOFError:
            print()
            return Undecided.STOPPED
        if typed in ("s", "stop"):
            return Undecided.STOPPED
        if not typed:
            say(f"Left as before: you have decided nothing about {plural(len(asked), 'message')}.")
            return Undecided.LEFT
        if typed in ("y", "yes"):
            return frozenset(range(len(asked)))
        if typed in ("n", "no"):
            return frozenset()
        words = typed.replace(",", " ").split()
        if words[0] == "v" and (viewed := _numbers(words[1:], len(asked))):
            for number in sorted(viewed):
                _view(*asked[number])
        elif (typed_numbers := _numbers(words, len(asked))) is not None:
            return frozenset(range(len(asked))) - typed_numbers if excluding else typed_numbers


def _numbers(words: Sequence[str], most: int) -> frozenset[int] | None:
    """Return typed numbers, counted from 0; None if one is not a number from 1 to `most`.

    >>> _numbers(["2", "4-5"], 9) == {1, 3, 4}, _numbers(["0"], 9), _numbers(["x"], 9)
    (True, None, None)
    """
    found: set[int] = set()
    for word in words:
        first, _, last = word.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            return None
        found.update(range(int(first), min(int(last or first), most + 1) + 1))
    return frozenset(number - 1 for number in found) if found and found <= {*range(1, most + 1)} else None


def _view(path: str | None, digest: bytes) -> None:
    raw = None if path is None else file_of(path, digest)
    if raw is None:
        say("Its file is gone, or cannot be read.")
        return
    columns, rows = shutil.get_terminal_size()
    print(f"\n{screens(raw, max(columns, 20), max(rows - _OWN_ROWS, 10))[0]}\n")


def _decide(asking: _Asking, asked: Sequence[FirstQuestion], spam: frozenset[int]) -> list[bytes]:
    """Learn the answers of a screen as decisions. Returns the messages that are spam, by their identities."""
    ids: dict[Label, list[int]] = {label: [] for label in Label}
    decided = list[bytes]()
    for number, question in enumerate(asked):
        label = Label.SPAM if number in spam else Label.HAM
        ids[label] += [done.answer for done in answer(asking.answers, question.copies, label, WHY)]
        if label is Label.SPAM:
            decided += question.copies
    for label, some in ids.items():
        if some:
            say(f"{len(some)} learned as {label.word}, by your decision. To undo: {_undo(some, asking.options)}")
    return decided


def _undo(ids: Sequence[int], options: argparse.Namespace) -> str:
    return f"{command(options)} undo {' '.join(map(str, ids))}"

"""The questions of `audit` and `review`: as lines, as JSON, or as a dialogue at a terminal."""

import argparse
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext

from spamnb.acts.answers import Answer, Answers
from spamnb.acts.current_files import CurrentFiles
from spamnb.acts.not_yet import only_guesses
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.base.wording import escaped, plural
from spamnb.cli.common.config_and_ledger import command, open_ledger, open_to_read
from spamnb.cli.common.output import as_json, is_dialogue, say, typed_at, warn
from spamnb.config import Config
from spamnb.filter.explain import named
from spamnb.filter.judge import Clue
from spamnb.ledger.ledger import Ledger
from spamnb.review.misfiled import Doubts, Misfiled, count_misfiled

JSON_HELP = "one JSON object per line: path, label, counts_as, probability, clear, weak, clues, message, digest"
Find = Callable[[Ledger, Config], list[Misfiled]]
Above = Callable[[Sequence[Misfiled]], str]
_LABELS = {"h": Label.HAM, "s": Label.SPAM}  # the keys are those of the pages
_KEYS = {"f": Answer.FORGET, "n": Answer.NEVER}
_LATER, _QUIT = ("", "l"), "q"
_QUESTION = "[h]am, [s]pam, [l]ater, [v]iew, [f]orget, [n]ever again, [q]uit, [?] "
_HELP = """\
   {same}  {label}: you decide that this is right
   {others}  {other}: the filter learns it, and moves it to {goal} if its folder is watched
   l  later, as Enter: leave it unchanged
   v  view the message; type v again to see more
   f  forget it: it teaches nothing, and is not moved
   n  never ask about it again, and change nothing
   q  stop asking"""
_OWN_ROWS = 6  # of a screen: the question, and the lines above it
_FIGURE = "the probability of spam is {:.4f}"
_LONGEST = 60  # characters of the text of a clue


def ask_or_show(find: Find, above: Above, options: argparse.Namespace, at_once: int | None = None) -> int:
    """At a terminal, ask about the findings of `find` until none is left; elsewhere only show them.

    above: returns the line above these findings, or "". at_once: the number of questions before it calls `find` again.
    """
    is_asking = not options.json and not options.quiet and is_dialogue()
    config, ledger = open_ledger(options) if is_asking else open_to_read(options)
    with ledger or nullcontext():
        found = [] if ledger is None else find(ledger, config)
        is_guess = ledger is None or only_guesses(ledger, config.learning)
        if options.json:
            for one in found:
                print(as_json(as_object(one)))
            return 0
        if line := above(found):
            say(line)
        if ledger is not None and found and is_asking:
            _Dialogue(ledger, config, f"{command(options)} undo").ask_all(found, find, at_once)
        else:
            for number, one in enumerate(found, 1):
                say("\n".join(_lines(one, f"{number}.", is_guess=is_guess)))
    return 0


def doubts_of(options: argparse.Namespace) -> Doubts:
    """Return how many learned messages are probably in the wrong folder: none if that is only a guess."""
    config, ledger = open_to_read(options)
    if ledger is None:
        return Doubts()
    with ledger:
        return Doubts() if only_guesses(ledger, config.learning) else count_misfiled(ledger, config.scoring)


def as_object(one: Misfiled) -> dict[str, object]:
    """Return a finding for JSON."""
    return {
        "path": None if one.place is None else one.place.path,
        "label": one.label.word if one.is_learned else None,
        "counts_as": one.counts_as,
        "probability": round(one.judgement.probability, 6),
        "clear": one.is_clear,
        "weak": one.weak,
        "clues": [
            {"token": clue.token, "ham": clue.ham, "spam": clue.spam, "log_odds": round(clue.log_odds, 6)}
            for clue in one.clues
        ],
        "message": one.summary,
        "digest": one.digest.hex(),
    }


class _Dialogue:
    """Asks about messages at the terminal. way_back: the command that undoes an answer, without its number."""

    def __init__(self, ledger: Ledger, config: Config, way_back: str) -> None:
        self._ledger = ledger
        self._config = config
        self._way_back = way_back
        self._answers = Answers(ledger, config)

    def ask_all(self, found: Sequence[Misfiled], find: Find, at_once: int | None) -> None:
        """Ask about all findings, then about new ones that follow from the answers, until the person stops."""
        asked: set[tuple[bytes, Label]] = set()
        try:
            while some := [one for one in found if (one.digest, one.label) not in asked][:at_once]:
                if asked:
                    say(f"\nYour answers bring up {plural(len(some), 'more message')}:")
                asked.update((one.digest, one.label) for one in some)
                if not self._ask(some):
                    return
                found = find(self._ledger, self._config)
            print("That was all.")
        finally:
            self._answers.end()

    def _ask(self, found: Sequence[Misfiled]) -> bool:
        """Ask about each. Returns False if the person stops."""
        for number, one in enumerate(found, 1):
            is_guess = only_guesses(self._ledger, self._config.learning)  # an answer may end that
            say("\n".join(("", *_lines(one, f"{number} of {len(found)}:", is_guess=is_guess))))
            typed = self._typed(one)
            if typed == _QUIT:
                return False
            if typed in _LABELS:
                self._give(one, Answer.RIGHT if _LABELS[typed] is one.label else Answer.OTHERWISE)
            elif typed in _KEYS:
                self._give(one, _KEYS[typed])
        return True

    def _typed(self, one: Misfiled) -> str:
        """Return the key of an answer, of later, or to quit, also at the end of input."""
        same, others, other, goal = (
            ("h", "s", "spam", "the spam folder") if one.label is Label.HAM else ("s", "h", "ham", "the inbox")
        )
        waiting: list[str] = []  # screens of the message that are not shown yet
        while True:
            try:
                typed = typed_at(_QUESTION)
            except EOFError:
                print()
                return _QUIT
            if typed in (*_LATER, _QUIT) or typed in _LABELS or typed in _KEYS:
                return typed
            if typed == "v":
                waiting = waiting or self._screens(one)
                print(f"\n{waiting.pop(0)}\n")
                print("[v] shows more. " if waiting else "", end="")
            else:
                say(_HELP.format(same=same, label=one.label.word, others=others, other=other, goal=goal))

    def _screens(self, one: Misfiled) -> list[str]:
        """Return the message of the question, in pieces for the terminal."""
        from spamnb.cli.common.message_text import file_of, screens

        place, raw = one.place, None
        if place is not None and place.location is not None:
            found = CurrentFiles(self._ledger, self._config).read(place.location, one.digest)
            raw = None if found is None else found[1]
        elif place is not None:
            raw = file_of(place.path, one.digest)
        if raw is None:
            return ["Its file is gone, or cannot be read. Only the words that the filter learned from it are kept."]
        columns, rows = shutil.get_terminal_size()
        return screens(raw, max(columns, 20), max(rows - _OWN_ROWS, 10))

    def _give(self, one: Misfiled, answer: Answer) -> None:
        try:
            done = self._answers.give(one.question, answer)
        except MaildirError as fault:
            warn(f"that was not done: {fault}")
            return
        stays = f"Learned; the file stays: {escaped(done.stays)}. " if done.stays else ""
        say(f"{stays}To undo: {self._way_back} {done.answer}")


def _lines(one: Misfiled, number: str, *, is_guess: bool) -> Iterable[str]:
    why = f": {escaped(one.at_start)}" if one.at_start else ""
    if one.now is not None and one.now is not one.label:
        why = f", though this file was called {one.label.word}"
    called = f"counts as {one.counts_as}{why};{' without it,' if one.is_learned else ''}"
    judgement = one.judgement
    figure = f"a first guess says {judgement.verdict}" if is_guess else _FIGURE.format(judgement.probability)
    yield f"{number} {escaped(one.summary)}"
    yield f"   {called} {figure}"
    if one.ordered:
        yield f"   {escaped(one.ordered)}"
    yield f"   {'its folder is not known' if one.place is None else escaped(one.place.path)}"
    if one.clues:
        yield f"   {'; '.join(map(clue_in_words, one.clues))}"


def clue_in_words(clue: Clue) -> str:
    """Return a clue, and in how many learned messages it was met."""
    one = named(clue)
    met = escaped(one.text if len(one.text) <= _LONGEST else f"{one.text[:_LONGEST]}…")
    return f"{one.kind}{f' “{met}”' if met else ''} (ham {clue.ham}, spam {clue.spam})"

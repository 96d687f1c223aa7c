"""Show why a message gets its verdict.

It lists the tokens that decide, sorted by how much each contributes to the log-odds of the
probability: its share of the weight times its log-odds (above 0: it points to spam). It
shows how many learned messages have each token, and which of them taught the strongest.

With --word it shows what the filter knows about one word: in the text, the subject, the
sender, and links.

example:
  spamnb explain message.eml
  spamnb explain --word invoice
"""

import argparse
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict

from spamnb.acts.newcomers import of_sender
from spamnb.acts.not_yet import only_guesses
from spamnb.acts.ordered import order_about
from spamnb.acts.who_it_is import WhoItIs, who_it_is
from spamnb.base.errors import MailError, UsageError
from spamnb.base.label import Verdict, counts_as
from spamnb.base.wording import adding_up, clock, escaped, plural
from spamnb.bayes.calibration import log_odds
from spamnb.bulk.sources import Source
from spamnb.cli.common.argument_types import at_least, ledger_text
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.cli.common.named_messages import messages, or_standard_input
from spamnb.cli.common.output import as_json, table
from spamnb.cli.score import as_object, warn_if_untaught
from spamnb.config import Senders
from spamnb.filter.judge import Clue, Explanation, Filter
from spamnb.ledger.at_start import learned_at_start
from spamnb.ledger.lessons.acquaintance import Acquaintance
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lesson, Teacher
from spamnb.mail.reading import Reading, read
from spamnb.mail.tokens.kinds import visible

INTERRUPTED = "nothing was changed"
ENDS_AT_ONCE = True
_CLUES, _DIGITS, _SUGGESTED, _WORD_CHARS = 15, 2, 10, 100
_TOTAL = (
    "That is the log-odds of the probability. {silent:.0f} % of the weight is caution and tokens without evidence: it"
    " pulls towards unsure."
)
_LISTED = (
    "The verdict is your own, whatever the probability: {list} {pattern}. From and List-Id can be forged. Your decision"
    " about a message goes before this."
)
_VOUCHED = "It looks like spam, but it is unsure: {why}. If you move it to Junk, the next one of this sender is spam."
_GUESS = "The filter has learned too little to be sure: this is a first guess."
_UNREAD = "It looks like ham, but it is unsure: {why}."
_HISTORY = {
    Acquaintance.ANSWER: "It answers mail that you have sent, and its sender is a recipient of that mail",
    Acquaintance.CORRESPONDENT: "You know its sender, and their mail usually comes this way",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option = parser.add_argument
    add_json(parser)
    option("--clues", type=at_least(1), metavar="N", help=f"how many clues on each side (default: {_CLUES})")
    option("--without-itself", action="store_true", help="judge a learned message as if it were not learned")
    option(
        "--word", type=ledger_text, metavar="WORD", help="show what is known about a word, or a token (subject:offer)"
    )
    path = "a message file, or - for standard input, which is the default in a pipe"
    option("path", nargs="?", metavar="PATH", help=path)


def run(options: argparse.Namespace) -> int:
    """Print the clues of one message's verdict, or what the filter knows about a word."""
    if options.word is not None:
        return _explain_word(options)
    most = options.clues or _CLUES
    source, reading = _one_message(or_standard_input([options.path] if options.path is not None else [], "explain")[0])
    config, ledger = open_to_read(options)
    with ledger or nullcontext(), ledger.snapshot() if ledger else nullcontext():
        lessons = MemoryLessons() if ledger is None else ledger.lessons
        warn_if_untaught(lessons.totals()[:2].tolist(), options)
        known = lessons.find(reading.digest)
        at_start = "" if ledger is None else learned_at_start(ledger, reading.digest)
        judge = Filter.of(lessons, config)
        explanation = judge.explain(reading, without_itself=options.without_itself)
        sender = "" if ledger is None else of_sender(ledger, config, reading.relations)
        order = "" if ledger is None else order_about(ledger, config, reading, explanation.judgement.verdict)
        is_guess = ledger is None or only_guesses(ledger, config.learning)
        who = WhoItIs() if ledger is None else who_it_is(ledger, config, source.read(), reading)
    if options.json:
        facts = [{"kind": fact.kind, "sentence": fact.sentence} for fact in (*who.alarming, *who.known)]
        more = {"sender": sender, "ordered": order, "who_it_is": facts}
        print(as_json(_as_object(source, explanation, known, options) | more))
    else:
        said = [*([_GUESS] if is_guess else []), *_of_itself(known, at_start, options.without_itself), escaped(order)]
        print("\n".join(_explained(reading, explanation, filter(None, said), sender, config.senders, most)))
        if who.alarming:
            told = [f"  {escaped(fact.sentence)}" for fact in (*who.alarming, *who.known)]
            print("\n".join(["\nIs it who it says?", *told]))
    return 0


def _one_message(path: str) -> tuple[Source, Reading]:
    try:
        found = list(itertools.islice(messages([path]), 2))
    except MailError as fault:
        if os.path.lexists(path) or not path.replace("@", "").replace(".", "").isalnum() or len(path) > _WORD_CHARS:
            raise
        raise MailError(
            f"{fault}. To find a message: spamnb history {path}. The pages say why: spamnb web --open"
        ) from None
    if not found:
        raise MailError(f"{escaped(path)} holds no messages: give a message file")
    if len(found) > 1:
        raise UsageError(f"{escaped(path)} holds several messages: give one of them, or pipe it into spamnb explain -")
    try:
        return found[0], read(found[0].read())
    except MailError as fault:
        raise MailError(f"cannot explain {escaped(found[0].where)}: {fault}") from fault


def _as_object(
    source: Source, explanation: Explanation, known: Lesson | None, options: argparse.Namespace
) -> dict[str, object]:
    label = None if known is None else known.label
    return as_object(source, explanation.judgement) | {
        "learned_as": None if label is None else label.word,
        "learned_weakly": label is not None and known is not None and known.weak,
        "counts_as": counts_as(label, known is not None and known.weak),
        "without_itself": bool(options.without_itself),
        "tokens": explanation.tokens,
        "known": explanation.known,
        "history": sorted(explanation.history),
        "listed": explanation.judgement.listed,
        "vouched": explanation.judgement.vouched,
        "unread": explanation.judgement.unread,
        "clues": [_rounded(clue) for clue in explanation.clues],
        "taught_by": {token: list(map(_taught, teachers)) for token, teachers in explanation.teachers.items()},
    }


def _rounded(clue: Clue) -> dict[str, object]:
    shares = {name: round(getattr(clue, name), 6) for name in ("log_odds", "weight", "contribution", "share")}
    return {"token": clue.token, "ham": clue.ham, "spam": clue.spam} | shares


def _taught(one: Teacher) -> dict[str, object]:
    return {"message": one.message, "summary": one.summary, "label": one.label.word, "learned_at": one.learned_at}


def _of_itself(known: Lesson | None, at_start: str, without: bool) -> Iterator[str]:
    """Yield the sentences that say whether the message is itself learned. at_start: as in `learned_at_start`."""
    if known is not None and known.label is not None:
        why = f": {escaped(at_start)}" if at_start else f" ({escaped(known.why)})"
        how = f"{counts_as(known.label, known.weak)}{why}"
        left_out = "This lesson is left out here." if without else "To leave this lesson out: --without-itself"
        yield f"This message itself counts as {how}. {left_out}"
    elif without:
        yield "This message is not learned: there is nothing to leave out."


def _shares(explanation: Explanation, most: int) -> Iterator[str]:
    """Yield the clues of each side, the strongest first. Their numbers sum to the log-odds of the probability."""
    sides = {sign: [clue for clue in explanation.clues if sign * clue.contribution > 0] for sign in (1, -1)}
    shown = [clue for side in sides.values() for clue in side[:most]]
    if not shown:
        return
    weaker = [sum(clue.share for clue in side[most:]) for side in sides.values() if len(side) > most]
    total = log_odds(explanation.judgement.log_odds)
    parts = adding_up([*(clue.share for clue in shown), *weaker], total, _DIGITS)
    shares, rests = iter(parts[: len(shown)]), iter(parts[len(shown) :])
    rows: list[tuple[object, ...]] = [("token", "in ham", "in spam", "log-odds", "contributes")]
    rows += [(visible(one.token), one.ham, one.spam, f"{one.log_odds:+.2f}", f"{next(shares):+.2f}") for one in shown]
    lines = iter(table(rows).splitlines())
    head = next(lines)
    yield f"\n{head}"
    for sign, side in sides.items():
        kind = "spam" if sign > 0 else "ham"
        yield f"For {kind}:" if side else f"Nothing points to {kind}."
        yield from itertools.islice(lines, min(len(side), most))
        if len(side) > most:
            yield _line(f"and {len(side) - most} weaker", next(rests), head)
    yield _line("Together", round(total, _DIGITS), head)
    yield _TOTAL.format(silent=100 * explanation.silent)


def _line(text: str, number: float, head: str) -> str:
    """Return a line with a number in the last column."""
    return f"{text}  {number:+.2f}" if len(text) + 8 > len(head) else f"{text}{number:+{len(head) - len(text)}.2f}"


def _explained(
    reading: Reading,
    explanation: Explanation,
    said: Iterable[str],
    sender: str,
    senders: Senders,
    most: int,
) -> Iterator[str]:
    judgement, clues = explanation.judgement, explanation.clues
    yield f"{judgement.verdict}, probability of spam {judgement.probability:.4f}: {escaped(reading.summary)}"
    yield from said
    if judgement.listed:
        is_ham, is_chosen = judgement.verdict is Verdict.HAM, senders.is_chosen(judgement.listed)
        chosen = "you have chosen to allow" if is_ham else "you have chosen to block"
        by = chosen if is_chosen else f"senders.{'allow' if is_ham else 'block'} has"
        yield _LISTED.format(list=by, pattern=escaped(judgement.listed))
    if judgement.vouched:
        yield _VOUCHED.format(why=escaped(judgement.vouched))
    if judgement.unread:
        yield _UNREAD.format(why=escaped(judgement.unread))
    yield from (f"{text}." for one, text in _HISTORY.items() if one in explanation.history)
    if sender:
        yield escaped(sender)
    yield f"{len(clues)} of its {explanation.tokens} tokens decide; {explanation.known} are known"
    yield from _shares(explanation, most)
    yield from _learned_from(explanation.teachers)


def _learned_from(teachers_of: Mapping[str, Sequence[Teacher]]) -> Iterator[str]:
    taught = {token: teachers for token, teachers in teachers_of.items() if teachers}
    if taught:
        yield "\nLearned from:"
    for token, teachers in taught.items():
        yield f"  {escaped(visible(token))}"
        for teacher in teachers:
            yield f"    {teacher.label.word:4}  {clock(teacher.learned_at)}  {escaped(teacher.summary)}"


# --- one word -------------------------------------------------------------------------------------------------------


def _explain_word(options: argparse.Namespace) -> int:
    """Print what the filter knows about a word."""
    if options.path is not None or options.without_itself or options.clues:
        raise UsageError("explain --word takes only the word: leave out PATH, --without-itself and --clues")
    typed = options.word.strip().lower()
    if not typed:
        raise UsageError("explain --word needs a word")
    from spamnb.filter.telling_words import TellingWords

    config, ledger = open_to_read(options)
    words, teachers, like, (ham, spam) = [], {}, [], (0, 0)
    if ledger is not None:
        with ledger, ledger.snapshot():
            telling = TellingWords(ledger, config.scoring)
            words, like = telling.looked_up(typed), telling.beginning_with(typed, _SUGGESTED)
            teachers = ledger.lessons.teachers([word.token for word in words])
            ham, spam = ledger.lessons.totals()[:2].tolist()
    if options.json:
        found = [asdict(word) | {"log_odds": round(word.log_odds, 6)} for word in words]
        taught = {token: list(map(_taught, some)) for token, some in teachers.items()}
        print(as_json({"word": typed, "tokens": found, "taught_by": taught, "longer": like}))
        return 0
    if words:
        rows = [(visible(word.token), word.ham, word.spam, f"{word.log_odds:+.2f}") for word in words]
        print(table([("token", "in ham", "in spam", "log-odds"), *rows]))
        print(f"The filter has learned {ham} ham and {plural(spam, 'spam message')}. Log-odds above 0 point to spam.")
        print("\n".join(_learned_from(teachers)))
    else:
        learned = f"{ham} ham and {plural(spam, 'spam message')}"
        print(f"No learned message holds {escaped(typed)}. The filter has learned {learned}.")
    if like:
        print(f"\nLonger words with this beginning: {', '.join(escaped(visible(token)) for token in like)}")
    return 0

"""`evaluate` and `compare`: what they say of a corpus and of one's own mail."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from spamnb.base.label import Label
from spamnb.cli import evaluate
from spamnb.cli.common import output
from spamnb.cli.common.sample_mail import message
from spamnb.config import Model
from spamnb.evaluation.corpus import Labelled
from spamnb.evaluation.own_mail import newest
from spamnb.mail.reading import read
from spamnb.review.misfiled import Doubts
from tests.cli.conftest import Run, maildir

MESSAGES = 60  # of each kind


@pytest.fixture
def corpus(home: Path) -> Path:
    """Made-up ham and spam by turns, with an index."""
    directory = home / "corpus"
    directory.mkdir()
    lines = []
    for number in range(2 * MESSAGES):
        kind = ("ham", "spam")[number % 2]
        (directory / f"{number}.eml").write_bytes(message(kind, number))
        lines.append(f"{kind} {number}.eml\n")
    (directory / "index").write_text("".join(lines))
    return directory


def measured(run: Run, *arguments: object) -> dict[str, object]:
    """Return the object that `evaluate --json` prints."""
    result = run("evaluate", *arguments, "--json")
    assert result.code == 0, result.err
    found: dict[str, object] = json.loads(result.out)
    return found


@pytest.mark.parametrize("protocol", ["online", "batch", "folds"])
def test_protocols(run: Run, corpus: Path, protocol: str) -> None:
    """Each protocol scores what it has to, and gives every measure in percent with its interval."""
    found = measured(run, corpus, "--protocol", protocol, "--folds", 4)
    scored = MESSAGES if protocol == "batch" else 2 * MESSAGES
    assert (found["messages"], found["ham"], found["spam"]) == (scored, scored // 2, scored // 2)
    intervals = found["intervals"]
    assert isinstance(intervals, dict)
    for name in ("hm", "sm", "lam", "one_minus_roca", "sm_at_hm", "brier", "calibration"):
        low, high = intervals[name]
        assert 0 <= low <= float(str(found[name])) <= high <= 100


def test_the_corpus_is_learned(run: Run, corpus: Path) -> None:
    """On mail as simple as this, ranking is perfect and no ham is lost, once some of it is learned."""
    found = measured(run, corpus, "--warm-up", 40)
    assert found["one_minus_roca"] == 0
    assert found["hm"] == 0


def test_warm_up(run: Run, corpus: Path, home: Path) -> None:
    """The first messages are scored and learned, but not measured."""
    whole, rest = measured(run, corpus), measured(run, corpus, "--warm-up", 30, "--scores", "scores")
    assert rest["messages"] == 2 * MESSAGES - 30
    assert len((home / "scores").read_text().splitlines()) == 2 * MESSAGES
    assert float(str(rest["unsure"])) < float(str(whole["unsure"])), "an empty filter is unsure"


def test_a_user_with_folders_for_mail_apart(run: Run, corpus: Path) -> None:
    """With --apart, the figures of a simulated user say what lies in that folder; other protocols have none."""
    of_user = (corpus, "--protocol", "user", "--habit", "told")
    without, found = measured(run, *of_user), measured(run, *of_user, "--apart", "newcomers")
    assert found.keys() > without.keys()
    assert found["newcomers_ham"] == 0, "too few addresses are known"
    assert "ham in the folder for newcomers" in run("evaluate", *of_user, "--orders", 2, "--apart", "newcomers").out
    refused = run("evaluate", corpus, "--apart", "newcomers")
    assert (refused.code, "are for --protocol user" in refused.err) == (64, True)


def test_nothing_left_to_measure(run: Run, corpus: Path) -> None:
    """If nothing is left to measure, the error says so."""
    result = run("evaluate", corpus, "--warm-up", 2 * MESSAGES)
    assert result.code == 3
    assert "nothing can be measured" in result.err


def test_scores_do_not_replace_the_ledger(run: Run, corpus: Path, taught: Path) -> None:
    """Scores are never written in the place of the ledger."""
    ledger = taught / ".local/share/spamnb/ledger.sqlite"
    before = ledger.read_bytes()
    result = run("evaluate", corpus, "--scores", ledger)
    assert (result.code, result.out) == (64, "")
    assert "is the ledger's own" in result.err
    assert ledger.read_bytes() == before


def test_scores(run: Run, corpus: Path, home: Path) -> None:
    """A line a message, in order and in the form of the TREC spam track, in which a higher score is more like spam."""
    measured(run, corpus, "--scores", "scores")
    lines = (home / "scores").read_text().splitlines()
    form = re.compile(r"(\S+) judge=(spam|ham) class=(spam|ham|unsure) score=(-?[\d.e+-]+)")
    found = [form.fullmatch(line) for line in lines]
    assert all(found)
    assert [line[1].rpartition("/")[2] for line in found if line] == [f"{n}.eml" for n in range(2 * MESSAGES)]
    late = [line for line in found[20:] if line]
    assert min(float(line[4]) for line in late if line[2] == "spam") > max(
        float(line[4]) for line in late if line[2] == "ham"
    )


def names(scores: Path) -> list[str]:
    """The messages of a file of scores, in its order."""
    return [line.partition(" ")[0].rpartition("/")[2] for line in scores.read_text().splitlines()]


def test_folds_are_in_the_order_of_the_corpus(run: Run, corpus: Path, home: Path) -> None:
    """With folds, scores are in the order of the corpus too, and the warm-up is its beginning."""
    index = (corpus / "index").read_text().splitlines()
    first_ham = sorted(index, key=lambda line: line.startswith("spam"))
    (corpus / "index").write_text("\n".join(first_ham))
    found = measured(run, corpus, "--protocol", "folds", "--folds", 4, "--warm-up", 50, "--scores", "scores")
    assert names(home / "scores") == [line.split()[1] for line in first_ham]
    assert (found["ham"], found["spam"]) == (MESSAGES - 50, MESSAGES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--protocol", "folds", "--delay", 5), "--delay is for --protocol online"),
        (("--protocol", "batch", "--delay", 5), "--delay is for --protocol online"),
        (("--protocol", "folds", "--orders", 3), "--orders needs a protocol that has an order"),
        (("--orders", 3, "--scores", "scores"), "--scores cannot be given with --orders"),
        (("--orders", 3, "--shuffle", 0), "--shuffle cannot be given with --orders"),
        (("--orders", 3, "--plots", "p", "--at-most-one-ham-in", 9), "--plots and --at-most-one-ham-in cannot be"),
    ],
)
def test_what_has_no_meaning_is_refused(run: Run, corpus: Path, arguments: tuple[object, ...], said: str) -> None:
    """An option that would have no effect, or no meaning, is a wrong call, and nothing is read."""
    result = run("evaluate", corpus, *arguments)
    assert (result.code, result.out) == (64, "")
    assert said in result.err


def test_first_messages_have_no_rank(run: Run, corpus: Path) -> None:
    """Messages from before the filter knew both classes are counted as such, and left out of the ROC curve."""
    index = (corpus / "index").read_text().splitlines()
    ham_first = [line for line in index if line.startswith("ham")][:40]
    (corpus / "index").write_text("\n".join([*ham_first, *(line for line in index if line not in ham_first)]))
    found = measured(run, corpus)
    assert found["unscored"] == 41
    assert found["one_minus_roca"] == measured(run, corpus, "--warm-up", 41)["one_minus_roca"]
    assert float(str(found["one_minus_roca_of_all"])) > float(str(found["one_minus_roca"]))
    said = run("evaluate", corpus).out
    assert "41 of them came before the filter had learned both ham and spam, and have no rank" in said
    assert f"with them one_minus_roca is {found['one_minus_roca_of_all']:.4f}" in said


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", ["online", "batch"])
def test_several_orders(run: Run, corpus: Path, protocol: str) -> None:
    """With `--orders` each figure is the mean of the order of the corpus and of those of the seeds from 1 on."""
    runs = [measured(run, corpus, "--protocol", protocol, *more) for more in ((), ("--shuffle", 1), ("--shuffle", 2))]
    found = measured(run, corpus, "--protocol", protocol, "--orders", 3)
    spread = found["spread"]
    assert isinstance(spread, dict)
    assert found["orders"] == 3
    assert {"messages", "ham", "spam", "ham_lost", "hm", "sm", "lam", "one_minus_roca"} <= set(spread)
    for name, (least, greatest) in spread.items():
        of_runs = [float(str(one[name])) for one in runs]
        assert (least, greatest) == (min(of_runs), max(of_runs)), name
        assert found[name] == pytest.approx(sum(of_runs) / 3, abs=1e-6), name
    shown = run("evaluate", corpus, "--protocol", protocol, "--orders", 3).out
    assert re.search(r"^figure +mean +least +greatest", shown, re.MULTILINE)
    assert re.search(rf"^unsure +{found['unsure']:.4f} +{spread['unsure'][0]:.4f}", shown, re.MULTILINE)


def test_mail_that_contradicts_itself(run: Run, corpus: Path) -> None:
    """Spam that is filed as ham is named first, and no cutoff is advised to spare it."""
    index = (corpus / "index").read_text()
    (corpus / "index").write_text(index.replace("spam 61.eml", "ham 61.eml").replace("spam 95.eml", "ham 95.eml"))
    said = run("evaluate", corpus, "--protocol", "folds", "--at-most-one-ham-in", 50).out
    subjects = [read(message("spam", number)).summary for number in (61, 95)]
    first, _, refusal = said.partition("contradicts itself")
    assert first.startswith("2 messages are judged the opposite of their label:\n\nprobability  filed as  message\n")
    for part in (first, refusal):
        assert sum(line.split(maxsplit=2)[1:] in [["ham", one] for one in subjects] for line in part.splitlines()) == 2
    assert ".eml" not in said
    assert "spamnb audit" in refusal
    assert "spam_cutoff" not in said
    found = measured(run, corpus, "--protocol", "folds", "--at-most-one-ham-in", 50)
    assert (found["spam_cutoff"], found["contradicting"]) == (None, 2)
    look_at = found["look_at"]
    assert isinstance(look_at, list)
    assert {(one["path"], one["message"]) for one in look_at} == set(zip(("61.eml", "95.eml"), subjects, strict=True))


def test_only_the_first_messages(run: Run, corpus: Path) -> None:
    """--limit takes the first messages; a limit of none at all, or of fewer, is refused with what may be written."""
    assert measured(run, corpus, "--limit", 50)["messages"] == 50
    for none in ("0", "-5"):
        result = run("evaluate", corpus, "--limit", none)
        assert (result.code, result.out) == (64, "")
        assert f"argument --limit: '{none}' is too small: it must be 1 or more" in result.err


@pytest.mark.parametrize("model", get_args(Model))
def test_each_event_model_that_serves(run: Run, corpus: Path, model: str) -> None:
    """--model takes each event model that the configuration may name, and scores by it."""
    found = measured(run, corpus, "--model", model, "--warm-up", 40)
    assert (found["one_minus_roca"], found["hm"]) == (0, 0)


def test_training_rules_and_delay(run: Run, corpus: Path) -> None:
    """Late learning, or learning from errors alone, leaves the filter unsure for longer."""
    unsure = [
        float(str(measured(run, corpus, *more)["unsure"]))
        for more in ((), ("--delay", 20), ("--train", "errors"), ("--no-header",))
    ]
    assert unsure[1] > unsure[0]
    assert unsure[2] >= unsure[0]


def test_two_runs_are_alike(run: Run, corpus: Path) -> None:
    """With the same seed everything is the same, intervals and shuffled order among it."""
    one, other = (measured(run, corpus, "--shuffle", 3, "--seed", 5) for _ in range(2))
    assert one == other


@pytest.mark.thorough
def test_own_mail(run: Run, home: Path) -> None:
    """Without a corpus the user's learned mail is taken, as what it was learned as.

    A cutoff that loses too much is answered with one that fits the configuration; one that does not may stay.
    """
    for number in range(MESSAGES):
        for folder, kind in (("cur", "ham"), (".Junk/cur", "spam"), (".Trash/cur", "spam")):
            directory = home / "Maildir" / folder
            directory.mkdir(parents=True, exist_ok=True)
            for other in ("new", "tmp"):
                (directory.parent / other).mkdir(exist_ok=True)
            file = directory / f"{1000 + number}.{kind}.host:2,S"
            file.write_bytes(message(kind, number))
            os.utime(file, times=(0, 1000 * (kind == "spam" and number > 0) + number))
    (home / "Maildir/cur/999.empty.host:2,S").touch()
    assert run("init", "--no-learn").code == 0
    refused = run("evaluate")
    assert (refused.code, refused.out, "spamnb init --learn" in refused.err) == (3, "", True)
    assert "left out 1 message " in run("init", "--learn").out, "the empty file in the inbox"
    (home / "Maildir/new/2000.ham.host").write_bytes(message("ham", 2000))
    assert run("run", "--once").code == 0
    found = measured(run, "--at-most-one-ham-in", 20)
    assert (found["ham"], found["spam"]) == (MESSAGES, MESSAGES), "neither the trash nor what nobody decided"
    assert "At 0.95, at most one ham in 2000 is called spam here: keep this cutoff." in (
        said := run("evaluate", "--at-most-one-ham-in", 2000).out
    )
    assert f"{MESSAGES} ham are too few to be sure of that" in said
    assert "wrong folder" not in said
    in_order = measured(run, "--protocol", "online")
    assert found["unsure"] < in_order["unsure"], "the spam is younger, and no filter without spam is tested"
    run("train", "--ham", *sorted((home / "Maildir/.Junk/cur").iterdir())[:2])
    for more in ((), ("--protocol", "user", "--habit", "tidy")):
        first = run("evaluate", *more).out.partition("\n")[0]
        assert first == f"{Doubts(2, 0).of_figures} To answer: spamnb audit"
    config = home / ".config/spamnb/config.yaml"
    before = config.read_text()
    config.write_text(before + "scoring: {ham_cutoff: 1.0e-12, spam_cutoff: 2.0e-12}\n")
    said = run("evaluate", "--at-most-one-ham-in", 20).out
    config.write_text(before + said[said.index("scoring:") :])
    assert "keep this cutoff" in run("evaluate", "--at-most-one-ham-in", 20).out
    config.write_text(before)


@pytest.fixture
def learned(run: Run, home: Path) -> Path:
    """A mailbox of learned mail, 40 ham and 20 spam, in the order of its arrival: the spam last."""
    root = maildir(
        home / "Maildir",
        INBOX=[message("ham", number) for number in range(40)],
        Junk=[message("spam", number) for number in range(20)],
    )
    for number, file in enumerate([*sorted(root.glob("cur/*")), *sorted(root.glob(".Junk/cur/*"))]):
        os.utime(file, (1000 + number, 1000 + number))
    assert run("init", "--learn").code == 0
    return root


def test_a_first_answer_about_much_mail(run: Run, learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """About much mail of one's own, evaluate first answers by the newest of both kinds; the end stays the same."""
    whole = run("evaluate").out
    assert "First answer" not in whole
    monkeypatch.setattr(evaluate, "_FIRST_FROM", 60)
    monkeypatch.setattr(evaluate, "_FIRST_MESSAGES", 30)
    first, heading, after = run("evaluate").out.partition("\nAll of it, which takes longer:\n")
    assert first.startswith(
        "First answer, by the newest 30 of 60 messages, in 3 parts:\n30 messages judged: 0 of 20 ham called"
    )
    assert heading and after == whole
    assert "First answer" not in run("evaluate", "--json").out


def test_the_newest_of_both_kinds() -> None:
    """The newest messages are of both kinds, in the same shares as all, and in their order."""
    mail_ = [Labelled(f"{n}", f"{n}", Label.HAM if n % 3 else Label.SPAM) for n in range(90)]
    chosen = newest(mail_, 30)
    assert [int(one.name) for one in chosen] == list(range(60, 90))
    old_spam = [Labelled(f"s{n}", f"s{n}", Label.SPAM) for n in range(9)] + mail_[1::3]
    assert [one.name for one in newest(old_spam, 4)] == ["s8", "82", "85", "88"]


def test_a_sign_of_life_in_a_pipe(run: Run, learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work in a pipe says on standard error how far it is, with its total; --quiet says nothing."""
    assert run("evaluate").err == ""
    monkeypatch.setattr(output, "LINE_SECONDS", 0.0)
    lines = run("evaluate").err.splitlines()
    assert {"spamnb: reading: 60 of 60", "spamnb: evaluating: 600 of 600"} <= set(lines)
    assert run("--quiet", "evaluate").err == ""
    assert "spamnb: living: 60 of 60" in run("evaluate", "--protocol", "user", "--habit", "tidy").err


def test_comparison(run: Run, corpus: Path) -> None:
    """All event models are compared; each has its recalls, its seed, its sizes and its ROC curve."""
    result = run("compare", corpus, "--attributes", "20,50", "--seed", 4, "--json")
    assert result.code == 0, result.err
    trials = [json.loads(line) for line in result.out.splitlines()]
    assert {trial["attributes"] for trial in trials} == {20, 50}
    assert len({trial["model"] for trial in trials}) == 6
    for trial in trials:
        assert 0 <= trial["ham_recall"] <= 100 >= trial["spam_recall"] >= 0
        assert trial["seed"] == 4
        assert trial["roc"][0] == [0.0, 0.0] and trial["roc"][-1] == [1.0, 1.0]


def test_too_small_for_the_comparison(run: Run, corpus: Path) -> None:
    """A corpus that has nothing beyond the first batch is refused with a line."""
    (corpus / "index").write_text("".join((corpus / "index").read_text().splitlines(keepends=True)[:90]))
    result = run("compare", corpus)
    assert result.code == 3
    assert "too small" in result.err


@pytest.mark.thorough
def test_pictures(process: Run, corpus: Path, home: Path) -> None:
    """With the option, the learning curve and the ROC curves are drawn."""
    pytest.importorskip("matplotlib")
    assert process("evaluate", corpus, "--limit", 60, "--plots", "run").code == 0
    assert process("compare", corpus, "--attributes", 20, "--plots", "comparison").code == 0
    for directory in ("run", "comparison"):
        assert any(path.stat().st_size > 1000 for path in (home / directory).iterdir())


@pytest.mark.parametrize(
    "arguments",
    [("--scores", "nowhere/scores"), ("--scores", "."), ("--scores", "pipe"), ("--plots", "pictures")],
)
def test_what_cannot_be_written_is_told_before_the_work(
    run: Run, corpus: Path, arguments: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unwritable place, or missing matplotlib, is an error before the first message is scored."""
    os.mkfifo("pipe")
    monkeypatch.setattr("spamnb.base.libraries.find_spec", lambda name: None)

    def read(*_: object) -> None:
        pytest.fail("the work has begun")

    monkeypatch.setattr("spamnb.cli.evaluate.load_corpus", read)
    result = run("evaluate", corpus, *arguments)
    assert (result.code, result.out, len(result.err.splitlines())) == (3, "", 1)
    if arguments[0] == "--plots":
        assert run("compare", corpus, *arguments).code == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere"),
        ((), "no learned ham and spam"),
        (("corpus", "--scores", "nowhere/scores"), "cannot write"),
        (("corpus", "--limit", "1"), "nothing can be measured"),
    ],
)
def test_what_cannot_be_done(run: Run, corpus: Path, arguments: tuple[str, ...], said: str) -> None:
    """A corpus that is not there, no mail at all, a place that cannot be written: one line says so."""
    result = run("evaluate", *arguments)
    assert result.code in {3, 64, 78}
    assert said in result.err


_WITHOUT_SCIPY = """\
import sys
from importlib.machinery import PathFinder

class WithoutScipy(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "scipy" else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutScipy
"""


def test_only_the_comparison_needs_scipy(
    process: Run, corpus: Path, home: Path, maildir: Callable[..., object]
) -> None:
    """Without scipy, mail is learned, scored and evaluated; `compare` says in a line how to install scipy."""
    (home / "sitecustomize.py").write_text(_WITHOUT_SCIPY)
    maildir(root=home / "Maildir")
    environ = {"PYTHONPATH": f"{home}:{Path(__file__).parents[2]}"}
    assert process("init", "Maildir", **environ).code == 0
    assert process("train", "--ham", corpus / "0.eml", **environ).code == 0
    assert process("score", corpus / "1.eml", **environ).code in {0, 1, 2}
    assert process("evaluate", corpus, "--orders", 2, **environ).code == 0
    result = process("compare", corpus, **environ)
    assert (result.code, result.out) == (3, "")
    assert re.fullmatch(r"spamnb: comparisons need scipy: \S.* install .*scipy\n", result.err)

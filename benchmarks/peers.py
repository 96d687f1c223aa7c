"""Measure other filters beside spamnb: each judges the same mail in the same order, and learns from the same person.

The person has a habit of `spamnb evaluate --protocol user`, as in benchmarks/habits.py. With `told` the filter learns
the true label of each message at once, as in the TREC spam track: all messages count. With another habit the person
corrects mistakes later: the second half counts, and mail moves when 20 ham and 20 spam are learned. spamnb runs with
`told` only; its lives are those of `spamnb evaluate`.

bogofilter      its own tokens and formula (benchmarks/robinson_fisher.py).
spamprobe       the program, with its defaults.
spamassassin    its Bayes alone: the rules BAYES_*, the stop words and the domain list of its package.
rspamd          its Bayes alone, with valkey-server: the classifier of its package, and no other module.
ftrl            logistic regression by FTRL-Proximal over the tokens of spamnb, with Stalwart's default settings.

All have their default settings, except that Bayes begins with the first ham and spam: SpamAssassin and rspamd wait for
200 of each. `rspamd-all` learns each message; `rspamd` leaves out mail that it is sure of, as it does for `rspamc`.

`ham called spam` and `spam caught` count at the program's own cutoff. SpamAssassin and rspamd have none: they add the
points of Bayes to other points. For them it is a probability of 0.99, above which SpamAssassin's BAYES_99 is. For ftrl
it is 0.85, Stalwart's PROB_SPAM_HIGH. `at 0.1 %` is the spam above all but one in 1,000 ham, which needs no cutoff.
(1-ROCA)% is 100 times 1 minus the area under the ROC curve; lower is better. Figures are means over the orders.

rspamd and valkey-server may be in the directory tree of another distribution: --root TREE, as root.

    python benchmarks/peers.py CORPUS [--filter NAME …] [--orders 4] [--habit told] [--root TREE] [--json]
"""

import http.client
import json
import random
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import common
import habits
import numpy as np
from robinson_fisher import RobinsonFisher, Words
from scipy.special import expit

from spamnb.base.label import How, Label
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Labelled, load_corpus, samples
from spamnb.evaluation.habits import HABITS
from spamnb.evaluation.measures import missed_at, one_minus_roca
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.runs import average
from spamnb.filter.judge import Filter
from spamnb.ledger.lessons.memory import MemoryLessons

_NAMES = ["spamnb", "bogofilter", "spamprobe", "spamassassin", "rspamd", "rspamd-all", "ftrl"]
_RANKED = "(1-ROCA)%"


class Spamnb:
    """The filter of the service, over lessons in memory."""

    cutoff = Scoring().spam_cutoff

    def __init__(self, packed: Packed) -> None:
        self._packed, self._lessons = packed, MemoryLessons()
        self._filter = Filter(self._lessons, Scoring(), Senders())

    def learn(self, message: int, label: Label) -> None:
        """Learn a message."""
        self._lessons.learn([self._packed[message].reading], label, "told", float(message), how=How.HAND)

    def spamicity(self, message: int) -> float:
        """Return the probability of spam."""
        return self._filter.judge(self._packed[message].reading).probability


class Ftrl:
    """Logistic regression by FTRL-Proximal, with a learning rate per token.

    McMahan et al., "Ad Click Prediction: a View from the Trenches", 2013, algorithm 1, in its letters. The defaults and
    the values of features (log1p of the occurrences, with a norm of 1) are those of Stalwart 0.16.
    """

    cutoff = 0.85
    alpha, beta, lambda1, lambda2 = 2.0, 1.0, 0.001, 0.0001

    def __init__(self, packed: Packed) -> None:
        numbers: dict[str, int] = {}
        self._rows = []
        for sample in packed:
            tokens = sample.reading.tokens
            i = np.array([numbers.setdefault(token, len(numbers)) for token in tokens])
            x = np.log1p(np.array(list(tokens.values()), dtype=float))
            self._rows.append((i, x / np.linalg.norm(x)))
        self._z, self._n = np.zeros(len(numbers)), np.zeros(len(numbers))

    def learn(self, message: int, label: Label) -> None:
        """Take one step along the gradient of a message."""
        i, x = self._rows[message]
        w = self._weights(i)
        g = (expit(w @ x) - label) * x
        sigma = (np.sqrt(self._n[i] + g * g) - np.sqrt(self._n[i])) / self.alpha
        self._z[i] += g - sigma * w
        self._n[i] += g * g

    def spamicity(self, message: int) -> float:
        """Return the probability of spam."""
        i, x = self._rows[message]
        return float(expit(self._weights(i) @ x))

    def _weights(self, i: np.ndarray) -> np.ndarray:
        z = self._z[i]
        step = (self.beta + np.sqrt(self._n[i])) / self.alpha + self.lambda2
        return np.where(np.abs(z) <= self.lambda1, 0.0, (np.sign(z) * self.lambda1 - z) / step)


class Spamprobe:
    """spamprobe: one process for each message that it judges or learns. It prints seven decimals."""

    cutoff = 0.7

    def __init__(self, messages: Sequence[Labelled], directory: Path) -> None:
        self._messages, self._command = messages, ["spamprobe", "-d", str(directory)]

    def learn(self, message: int, label: Label) -> None:
        """Learn a message: `spamprobe good FILE`, or `spam`."""
        self._run(("good", "spam")[label], message)

    def spamicity(self, message: int) -> float:
        """Return the number in the line `SPAM 0.9956653 DIGEST` or `GOOD …`."""
        return float(self._run("score", message).split()[-2])

    def _run(self, command: str, message: int) -> str:
        whole = [*self._command, command, self._messages[message].path]
        return subprocess.run(whole, capture_output=True, check=True, text=True, errors="replace").stdout


_RULES = [f"/usr/share/spamassassin/{name}" for name in ("20_aux_tlds.cf", "23_bayes.cf", "60_bayes_stopwords.cf")]
_PERL = r"""
use strict; use warnings; use Mail::SpamAssassin; $| = 1;
my ($directory, @rules) = @ARGV;
my $config = "loadplugin Mail::SpamAssassin::Plugin::Check\nloadplugin Mail::SpamAssassin::Plugin::Bayes\n";
for my $path (@rules) { local (@ARGV, $/) = $path; $config .= <> . "\n" }
$config .= "bayes_path $directory/bayes\nbayes_min_ham_num 1\nbayes_min_spam_num 1\nbayes_auto_learn 0\n";
my $filter = Mail::SpamAssassin->new({ config_text => $config, local_tests_only => 1, dont_copy_prefs => 1,
    userprefs_filename => "/dev/null", home_dir_for_helpers => $directory });
$filter->init(1);
$filter->init_learner({});
while (<STDIN>) {
    chomp;
    my ($act, $path) = split / /, $_, 2;
    open my $file, "<:raw", $path or die "$path: $!";
    my $mail = $filter->parse(do { local $/; <$file> }, 1);
    my $status = $act eq "score" ? $filter->check($mail) : $filter->learn($mail, undef, $act eq "spam", 0);
    printf "%.17g\n", $act eq "score" ? $status->{bayes_score} // 0.5 : 0;
    $status->finish;
    $mail->finish;
}
"""


class SpamAssassin:
    """The Bayes plugin of SpamAssassin, in one process that is asked line by line."""

    cutoff = 0.99

    def __init__(self, messages: Sequence[Labelled], process: "subprocess.Popen[str]") -> None:
        self._messages, self._process = messages, process

    def learn(self, message: int, label: Label) -> None:
        """Learn a message, with the call of `sa-learn`."""
        self._ask(label.word, message)

    def spamicity(self, message: int) -> float:
        """Return the probability by which the rules BAYES_* are chosen; 0.5 if it has none."""
        return self._ask("score", message)

    def _ask(self, act: str, message: int) -> float:
        asked, answered = self._process.stdin, self._process.stdout
        assert asked and answered
        print(act, self._messages[message].path, file=asked, flush=True)
        return float(answered.readline())


@contextmanager
def spamassassin(messages: Sequence[Labelled], directory: Path) -> Iterator[SpamAssassin]:
    """Run the Perl program over a new database."""
    command = ["perl", "-e", _PERL, str(directory), *_RULES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield SpamAssassin(messages, process)
        assert process.stdin
        process.stdin.close()


_RSPAMD = """
options {{
  filters = ""; url_tld = "/usr/share/publicsuffix/effective_tld_names.dat";
  dns {{ nameserver = ["127.0.0.1"]; timeout = 0.01s; retransmits = 1; }}
  pidfile = "{at}/pid"; control_socket = "{at}/control"; hs_cache_dir = "{at}";
  explicit_modules = []; words_decay = 600;
  classify_headers = ["User-Agent", "X-Mailer", "Content-Type", "X-MimeOLE"];
}}
logging {{ type = "file"; filename = "{at}/log"; level = "error"; }}
lua = "/usr/share/rspamd/rules/rspamd.lua"  # some of its rules give Bayes tokens
lang_detection {{ .include "/etc/rspamd/lang_detection.inc" }}
worker "normal" {{ bind_socket = "127.0.0.1:{scan}"; count = 1; }}
worker "controller" {{ bind_socket = "127.0.0.1:{learn}"; count = 1; secure_ip = "127.0.0.1"; password = "peers"; }}
redis {{ servers = "127.0.0.1:{redis}"; }}
.include "{at}/statistic.conf"
actions {{ reject = 1e15; }}
group "statistics" {{ symbols {{ "BAYES_SPAM" {{ weight = 1e12; }} "BAYES_HAM" {{ weight = -1e12; }} }} }}
"""
_WEIGHT = 1e12  # of the symbols: rspamd prints four decimals of their points
_POWER = 8  # by which rspamd turns the distance of a probability from ½ into a share of the weight


class Rspamd:
    """The Bayes classifier of rspamd, over HTTP as `rspamc` asks it."""

    cutoff = 0.99

    def __init__(self, messages: Sequence[Labelled], scan: int, learn: int, *, learns_all: bool) -> None:
        self._messages, self._scan, self._learn = messages, scan, learn
        self._header = {"Learn-Type": "bulk"} if learns_all else {}

    def learn(self, message: int, label: Label) -> None:
        """Learn a message, unless rspamd is sure of it or has learned it before."""
        self._post(self._learn, f"/learn{label.word}", message, self._header)

    def spamicity(self, message: int) -> float:
        """Return the probability of spam by the share of the symbols' weight; 0.5 if there is no symbol."""
        symbols = json.loads(self._post(self._scan, "/checkv2", message, {}))["symbols"]
        for name, sign in (("BAYES_SPAM", 1), ("BAYES_HAM", -1)):
            if name in symbols:
                return float(0.5 + sign * (abs(symbols[name]["score"]) / _WEIGHT) ** (1 / _POWER) / 2)
        return 0.5

    def _post(self, port: int, path: str, message: int, header: dict[str, str]) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=common.PATIENCE)
        connection.request("POST", path, Path(self._messages[message].path).read_bytes(), header)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status not in (200, 204, 208):  # 204: it is sure of this message; 208: learned before
            raise RuntimeError(f"rspamd answered {path} with {response.status}: {body[:200]!r}")
        return body


@contextmanager
def rspamd(messages: Sequence[Labelled], directory: Path, root: Path, *, learns_all: bool) -> Iterator[Rspamd]:
    """Run rspamd and an empty valkey-server, in a tree or on this system."""
    at = Path("/") / directory.relative_to(root)
    scan, learn, redis = _free_ports(3)
    statistic = (root / "etc/rspamd/statistic.conf").read_text()
    (directory / "statistic.conf").write_text(statistic.replace("min_learns = 200", "min_learns = 1"))
    (directory / "rspamd.conf").write_text(_RSPAMD.format(at=at, scan=scan, learn=learn, redis=redis))
    inside = [] if root == Path("/") else ["chroot", str(root)]
    valkey = ["valkey-server", "--port", str(redis), "--bind", "127.0.0.1", "--dir", str(at), "--save", ""]
    with (
        _running([*inside, *valkey], (redis,)),
        _running([*inside, "rspamd", "-f", "-i", "-c", f"{at}/rspamd.conf"], (scan, learn)),
    ):
        yield Rspamd(messages, scan, learn, learns_all=learns_all)


@contextmanager
def _running(command: list[str], ports: tuple[int, ...]) -> Iterator[None]:
    """Run a server; begins when it answers at each port."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            common.until(lambda: all(map(_answers, ports)), " ".join(command))
            yield
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _free_ports(number: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in sockets]


# QUIRK: in Enron1 to Enron6 no empty line ends the header, a Subject. rspamd and spamprobe then find no text.
_NOT_ENDED = re.compile(rb"\A(Subject:.*\n)(?!\r?\n|[ \t]|[!-9;-~]+:)")


class _Corpus:
    """A corpus, and what the filters inside this process know of it, read once. All read the same files."""

    def __init__(self, path: str, copies: Path) -> None:
        self.messages = [_ended(message, copies / str(n)) for n, message in enumerate(load_corpus(path))]
        self.labels = [message.label for message in self.messages]

    @cached_property
    def packed(self) -> Packed:
        return Packed(samples(self.messages))

    @cached_property
    def words(self) -> Words:
        return Words(self.messages)


def _ended(message: Labelled, copy: Path) -> Labelled:
    """Return the message, or a copy whose header ends with an empty line."""
    ended, n = _NOT_ENDED.subn(rb"\1\n", Path(message.path).read_bytes())
    if not n:
        return message
    copy.write_bytes(ended)
    return replace(message, path=str(copy))


@contextmanager
def _new(name: str, corpus: _Corpus, root: Path) -> Iterator[habits.Model]:
    """Yield a filter that has learned nothing."""
    with tempfile.TemporaryDirectory(dir=root / "tmp" if name.startswith("rspamd") else None) as made:
        directory = Path(made)
        match name:
            case "spamnb":
                yield Spamnb(corpus.packed)
            case "ftrl":
                yield Ftrl(corpus.packed)
            case "bogofilter":
                yield RobinsonFisher(corpus.words)
            case "spamprobe":
                yield Spamprobe(corpus.messages, directory)
            case "spamassassin":
                with spamassassin(corpus.messages, directory) as perl:
                    yield perl
            case _:
                with rspamd(corpus.messages, directory, root, learns_all=name == "rspamd-all") as server:
                    yield server


def main() -> None:
    """Let each filter live in each order, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--filter", nargs="+", choices=_NAMES, default=_NAMES)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--habit", choices=HABITS, default="told")
    parser.add_argument("--root", type=Path, default=Path("/"), metavar="TREE", help="where rspamd is installed")
    options = parser.parse_args()

    rows = []
    with tempfile.TemporaryDirectory() as copies:
        corpus = _Corpus(options.corpus, Path(copies))
        for name in options.filter:
            lives = [_live(name, corpus, options.root, options.habit, seed) for seed in range(options.orders)]
            figures = average(lives)
            low, high = figures.spread[_RANKED]
            rows.append({"filter": name} | figures.mean | {"from": low, "to": high})
    common.report(rows, options.json)


def _live(name: str, corpus: _Corpus, root: Path, habit: str, seed: int) -> dict[str, float]:
    order = list(range(len(corpus.messages)))
    if seed:
        random.Random(seed).shuffle(order)
    with _new(name, corpus, root) as peer:
        spamicity, moved = habits.live(order, corpus.labels, peer, HABITS[habit], seed)
    is_spam = np.array([corpus.labels[message] for message in order], dtype=bool)
    if habit == "told":
        judged, called_spam = slice(None), spamicity >= peer.cutoff
    else:
        judged, called_spam = slice(len(order) // 2, None), moved
    ranked, truth = spamicity[judged], is_spam[judged]
    return {
        _RANKED: one_minus_roca(ranked, truth),
        "ham called spam": int((called_spam & ~is_spam).sum()),
        "spam caught": 100 * float(called_spam[judged][truth].mean()),
        "at 0.1 %": 100 - missed_at(ranked, truth, 0.001),
    }


if __name__ == "__main__":
    main()

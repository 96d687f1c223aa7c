"""Words that people type for a command: words that do what it does, and words that get a hint."""

import difflib
from collections.abc import Iterable

WORKING = {  # words that people try first, with the command and its first arguments
    "allow": ("choose", "allow"),
    "block": ("choose", "block"),
    "check": ("score",),
    "classify": ("score",),
    "gentle": ("choose", "gentle"),
    "strict": ("choose", "strict"),
    "test": ("score",),
    "why": ("explain",),
}
_MEANT = {  # the command needs something that only the person knows
    "audit": "misfiled wrong",
    "backup": "copy save",
    "choose --forget SENDER": "unblock",
    "choose allow SENDER": "approve safe trust vip whitelist",
    "choose block SENDER": "ban blacklist mute unsubscribe",
    "choose newcomers_folder": "newcomers strangers",
    "choose newsletters_folder": "newsletter newsletters",
    "choose spam_cutoff": "cutoff level looser sensitivity stricter strictness threshold",
    "choose": "filters lists senders",
    "config": "folders options preferences settings",
    "doctor": "debug diagnose errors fix health problem problems repair",
    "evaluate": "accuracy benchmark",
    "explain --word WORD": "word words",
    "export": "dump",
    "filter": "maildrop procmail sieve",
    "history --since today": "today",
    "history --since yesterday": "yesterday",
    "history WORD": "find lookup search where",
    "history": "journal list log logs moved show",
    "init --fresh": "fresh reset",
    "init --host": "host",
    "init --imap USER@HOST": "connect fetch gmail gmx icloud imap mbsync outlook provider sync yahoo",
    "init MAILDIR": "account add mailbox",
    "init": "setup",
    "install-unit": "install service systemd",
    "pause": "disable off snooze stop suspend",
    "replay": "before past simulate try",
    "resume": "continue on unpause",
    "review": "answer ask questions",
    "run": "daemon go start watch",
    "statement": "digest lost month monthly",
    "status": "count counts database disk info ledger numbers running size state statistics stats summary",
    "train --again": "relearn retrain",
    "train --ham PATH": "ham",
    "train --spam PATH": "junk spam",
    "train": "teach",
    "undo": "back return revert unmove",
    "untrain": "unlearn",
    "web --open": "dashboard gui open page pages ui",
    "web": "browser",
}
_TOLD = {  # no single command does it
    "falsepositive inbox notjunk notspam rescue unjunk unspam wanted": (
        "Move the message out of Junk in your mail program: the filter learns that, and never moves it again. For all"
        " mail of a sender: `spamnb choose allow SENDER`."
    ),
    "missed report reportspam": (
        "Move the message to Junk in your mail program: the filter learns that. For all mail of a sender: `spamnb"
        " choose block SENDER`."
    ),
    "clean clear delete deletejunk empty emptyjunk expire": (
        "The filter deletes no mail: docs/questions.md says how to let your server empty Junk. `spamnb prune` makes the"
        " ledger smaller, and `spamnb untrain PATH` forgets a message."
    ),
    "cost costs licence license money pay price": (
        "spamnb is free (MIT licence). `spamnb status` shows how much of the disk it uses."
    ),
    "android iphone mobile phone": (
        "On the phone, move mail in any mail program: the filter learns from that. The pages open on this machine:"
        " `spamnb web --open`."
    ),
    "login passwd password": (
        "A new password of your provider goes into ~/.mbsync-password, or where your --pass-command finds it. The pages"
        " need none: `spamnb web --open`."
    ),
    "computer laptop machine migrate move transfer": (
        "To a new machine: `spamnb backup FILE` here, then `spamnb restore FILE` there (docs/set-up.md). To move mail"
        " that a pause has held back: `spamnb resume --move`."
    ),
    "purge remove uninstall": (
        "`spamnb install-unit --remove` removes the units, and docs/install.md says how to remove the rest. Your mail"
        " stays."
    ),
    "update upgrade": "docs/install.md says how to upgrade. All that the filter has learned stays.",
    "version": "`spamnb --version` shows the version.",
}
_HINTS = {word: f"Did you mean `spamnb {meant}`?" for meant, words in _MEANT.items() for word in words.split()} | {
    word: told for words, told in _TOLD.items() for word in words.split()
}
_ALIKE = 0.7  # of difflib: "scroe" and "score" are alike at 0.8; "phone" and "prune", "password" and "words" at 0.6


def hint(word: str, commands: Iterable[str]) -> str:
    """Return a sentence about what is meant by a word that is no command, or "". commands: all names that work."""
    hints = {name: f"Did you mean `spamnb {name}`?" for name in commands} | _HINTS
    typed = word[:60].lower()
    near = difflib.get_close_matches(typed.replace("-", "").replace("_", ""), hints, n=1, cutoff=_ALIKE)
    return hints[near[0]] if near else ""

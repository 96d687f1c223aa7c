"""The man pages: what each holds, and in which order."""

from collections.abc import Iterable, Iterator
from functools import cache

from spamnb import __version__
from spamnb.cli.common.arguments import ABOUT
from spamnb.cli.grammar import Argument, Command, commands, own_options
from spamnb.config.reference import Key, keys
from spamnb.manual import roff
from spamnb.service.spamd.protocol import Command as Request

_FILES = (
    ("~/.config/spamnb/config.yaml", "The configuration; see `spamnb.yaml`(5). `$XDG_CONFIG_HOME` is followed."),
    ("/etc/spamnb/config.yaml", "The configuration where there is none of your own."),
    ("~/.local/share/spamnb/ledger.sqlite", "What was seen, moved and learned. `$XDG_DATA_HOME` is followed."),
    ("~/.local/share/spamnb/copies/", "A copy of it for each of the last days."),
    ("/etc/spamnb/USER/config.yaml", "The configuration of the service `spamnb@USER`, its ledger being"),
    ("/var/lib/spamnb/USER/ledger.sqlite", "unless the configuration says otherwise."),
)
_EXIT_CODES = (
    ("0", "Done; or, for a single message, spam."),
    ("1", "`score`: ham. `status`: the filter has stopped moving mail by itself. `doctor`: a fault."),
    ("2", "`score`: unsure."),
    ("3", "An error."),
    ("64", "Wrong usage."),
    ("75", "The ledger is busy, or a message was not passed on: try again."),
    ("78", "A wrong configuration, or a damaged ledger without a copy."),
)
_VARIABLES = (
    ("MAILDIR", "Where `spamnb init` looks first."),
    ("XDG_CONFIG_HOME, XDG_DATA_HOME", "The directories above that of the configuration, and that of the ledger."),
    ("CONFIGURATION_DIRECTORY, STATE_DIRECTORY", "The same, from a service manager; they come first."),
)


@cache
def pages() -> dict[str, str]:
    """The text of each page by its name, such as `spamnb.1`."""
    every = {"spamnb.1": _program(), "spamnb.yaml.5": _configuration(), "spamnb-spamd.8": _spamd()}
    return every | {f"spamnb-{one.name}.8": _web(one) for one in commands() if one.name == "web"}


def _program() -> str:
    listed = roff.tagged((roff.bold(one.name), _sentence(one.summary)) for one in commands())
    options = f"[{roff.slanted('OPTION')}...] {roff.slanted('COMMAND')} [{roff.slanted('ARGUMENT')}...]"
    return "".join(
        (
            roff.head("spamnb", 1, __version__, "User Commands"),
            roff.section("NAME", f"spamnb {roff.text('-')} naive Bayes spam filter for Maildir\n"),
            roff.section("SYNOPSIS", f"{roff.bold('spamnb')} {options}\n"),
            roff.section("DESCRIPTION", roff.paragraph(ABOUT), listed),
            roff.section("OPTIONS", _list(own_options())),
            roff.section("COMMANDS", *map(_command, commands())),
            roff.section("EXIT STATUS", _table(_EXIT_CODES)),
            roff.section("FILES", _table(_FILES)),
            roff.section("ENVIRONMENT", _table(_VARIABLES)),
            _see_also("spamnb.yaml(5)", "spamnb-spamd(8)", "systemctl(1)", "maildir(5)"),
        )
    )


def _command(command: Command) -> str:
    return roff.below(
        roff.text(command.name),
        f".PP\n{_usage(command)}\n",
        roff.paragraphs(command.about),
        _list(_without_help(command)),
        roff.paragraphs(command.example),
    )


def _usage(command: Command) -> str:
    return " ".join([roff.bold(f"spamnb {command.name}"), *map(_in_usage, _without_help(command))])


def _without_help(command: Command) -> list[Argument]:
    return [one for one in (*command.options, *command.operands) if "--help" not in one.flags]


def _in_usage(argument: Argument) -> str:
    shown = " ".join(filter(None, (roff.bold(argument.flags[-1]) if argument.flags else "", _value(argument))))
    shown += "..." if argument.is_repeated else ""
    return shown if argument.is_needed else f"[{shown}]"


def _value(argument: Argument) -> str:
    """What stands for the value of an option, or for an operand."""
    if not argument.value:
        return ""
    shown = "|".join(map(roff.bold, argument.choices)) or roff.slanted(argument.value)
    return f"[{shown}]" if argument.flags and not argument.needs_value else shown


def _list(arguments: Iterable[Argument]) -> str:
    return roff.tagged((_tag(one), _sentence(one.help)) for one in arguments)


def _tag(argument: Argument) -> str:
    flags = ", ".join(map(roff.bold, argument.flags))
    return " ".join(filter(None, (flags, _value(argument))))


def _sentence(written: str) -> str:
    return written and written[0].upper() + written[1:] + ("" if written.endswith(".") else ".")


def _configuration() -> str:
    every = list(keys())
    return "".join(
        (
            roff.head("spamnb.yaml", 5, __version__, "File Formats"),
            roff.section("NAME", f"spamnb.yaml {roff.text('-')} configuration of spamnb\n"),
            roff.section(
                "SYNOPSIS",
                f"{roff.slanted('~/.config/spamnb/config.yaml')}, {roff.slanted('/etc/spamnb/config.yaml')}\n",
            ),
            roff.section(
                "DESCRIPTION",
                roff.paragraph(
                    "The configuration is YAML. All keys but `mailboxes` may be left out. `spamnb init` writes one,"
                    " `spamnb config --example` prints one with every key, `spamnb config` the values in force, and"
                    " `spamnb config --check` every fault, with its line."
                ),
                roff.paragraph("A running service reads it again when it gets SIGHUP."),
            ),
            roff.section("KEYS", *_keys(every)),
            roff.section(
                "EXAMPLE",
                roff.example("mailboxes:\n- path: ~/Maildir\n  roles:\n    INBOX: inbox\n    Junk: spam"),
            ),
            _see_also("spamnb(1)", "spamnb-spamd(8)"),
        )
    )


def _keys(every: list[Key]) -> Iterator[str]:
    """Each section with its keys."""
    for key in every:
        if not key.wanted:
            yield roff.below(roff.text(key.name))
            yield roff.paragraphs(key.about)
        else:
            default = f" Default: `{key.default}`." if key.default else ""
            yield roff.tagged([(roff.bold(key.name), f"{_joined(key.about)} Write {key.wanted}.{default}")])


def _joined(lines: str) -> str:
    return " ".join(lines.split())


def _spamd() -> str:
    requests = ", ".join(Request)
    return "".join(
        (
            roff.head("spamnb-spamd", 8, __version__, "System Administration"),
            roff.section("NAME", f"spamnb-spamd {roff.text('-')} the spamd protocol of spamnb's service\n"),
            roff.section(
                "SYNOPSIS",
                f"{roff.bold('systemctl --user start spamnb.socket spamnb')}\n.br\n",
                f"{roff.bold('systemctl start spamnb@')}{roff.slanted('USER')}{roff.bold('.socket spamnb@')}"
                f"{roff.slanted('USER')}\n.br\n",
                f"{roff.bold('spamc -U')} {roff.slanted('SOCKET')}\n",
            ),
            roff.section("DESCRIPTION", *map(roff.paragraph, _SPAMD)),
            roff.section(
                "REQUESTS",
                roff.paragraph(f"Those of SPAMC/1.2 to SPAMC/1.5: {requests}."),
                _table(_ANSWERS),
            ),
            roff.section("CONFIGURATION", *_keys([key for key in keys() if key.name.startswith("spamd.")])),
            roff.section("FILES", _table(_SOCKETS)),
            _see_also("spamnb(1)", "spamnb.yaml(5)", "spamc(1)", "systemd.socket(5)"),
        )
    )


def _web(command: Command) -> str:
    """The page of the pages in a browser."""
    listed = (
        f"{roff.bold('systemctl --user enable --now spamnb-web.socket')}\n.br\n",
        f"{roff.bold('systemctl enable --now spamnb-web@')}{roff.slanted('USER')}{roff.bold('.socket')}\n",
    )
    return "".join(
        (
            roff.head("spamnb-web", 8, __version__, "System Administration"),
            roff.section("NAME", f"spamnb-web {roff.text('-')} what spamnb did and why, on pages in a browser\n"),
            roff.section("SYNOPSIS", f"{_usage(command)}\n.br\n", *listed),
            roff.section("DESCRIPTION", roff.paragraphs(command.about), *map(roff.paragraph, _WEB)),
            roff.section("OPTIONS", _list(_without_help(command))),
            roff.section("EXAMPLES", roff.paragraphs(command.example)),
            roff.section("FILES", _table(_WEB_FILES)),
            _see_also("spamnb(1)", "spamnb.yaml(5)", "systemd.socket(5)"),
        )
    )


_WEB = (
    "systemd holds the address, or the socket, by `spamnb-web.socket` or `spamnb-web@.socket`, and starts the pages"
    " when a browser asks. They end when nobody has asked for ten minutes, and run in the sandbox of the service,"
    " without a network. `spamnb web --open` logs a browser in; the address that it opens is good for one minute,"
    " once. All pages lie below a path that follows from the key of the logins; elsewhere there is one line that says"
    " how to open them.",
    "On a mail host each user has a socket and pages of their own. A proxy asks for the password and connects to the"
    " socket of that user, whose group is the proxy's. It calls the pages by a name that --allow-host has to give:"
    " `systemctl edit spamnb-web@USER`, with Environment=SPAMNB_WEB=--allow-host=NAME.",
)
_WEB_FILES = (
    (
        "~/.local/share/spamnb/web.key",
        "The key of all logins and of the path, beside the ledger; `spamnb web --log-out` renews it.",
    ),
    ("/run/spamnb-web/USER.sock", "The socket of `spamnb-web@USER.socket`."),
)
_SPAMD = (
    "While `spamnb run` watches, it answers programs that can ask SpamAssassin's `spamd`: `spamc`, Exim, amavis,"
    " Haraka, and what calls `spamc`. It answers on the sockets that systemd hands over, and where `spamd.listen`"
    " says.",
    "systemd opens the sockets of `spamnb.socket` and `spamnb@.socket`, so that the service needs no network. Over a"
    " Unix socket the owner of the service, root and the users in `spamd.peers` may ask. Another user must also be able"
    " to open the socket: `systemctl edit spamnb@USER.socket`, with SocketGroup= and SocketMode=0660.",
    "One ledger serves one person: the name that a client sends (`spamc -u`) selects nothing, and is only written to"
    " the history.",
    "A verdict that was told at delivery is remembered for a day: what a rule files into Junk by it teaches nothing,"
    " and what then comes to the inbox is not judged again.",
)
_ANSWERS = (
    (
        "Points",
        "From 5.0 up a message is spam. 5.0 is `scoring.spam_cutoff`, and each point a factor of e in the odds.",
    ),
    ("False ; 0.0 / 5.0", "The filter would not move mail yet, or moving is stopped; `spamc -R` says why."),
    (
        "Names",
        "`spamc -y` says SPAMNB_SPAM, SPAMNB_UNSURE or SPAMNB_HAM; `spamc -R` what the points are made of.",
    ),
    ("Learning", "`spamc -L spam`, `-L ham` and `-L forget` teach, and move no file; `spamnb undo` takes it back."),
    (
        "69, 75, 76, 79",
        "One line: may not be done here; too much mail at once; cannot be read; came too late. `spamc -x` exits with"
        " 74 then.",
    ),
)
_SOCKETS = (
    ("$XDG_RUNTIME_DIR/spamnb/spamd.sock", "The socket of `spamnb.socket`, for one person."),
    ("/run/spamnb/USER.sock", "The socket of `spamnb@USER.socket`, on a mail host."),
)


def _table(rows: tuple[tuple[str, str], ...]) -> str:
    return roff.tagged((roff.bold(tag), said) for tag, said in rows)


def _see_also(*others: str) -> str:
    named = (f"{roff.bold(name)}({number}" for name, _, number in (other.partition("(") for other in others))
    return roff.section("SEE ALSO", ",\n".join(named) + "\n")

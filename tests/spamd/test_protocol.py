"""The spamd protocol as bytes: what clients send, however it is cut into reads, and what they accept."""

import re
import tracemalloc
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spamnb.base.label import Label
from spamnb.spamd.protocol import (
    SMALL,
    Command,
    RequestError,
    ResponseStatus,
    SpamdRequest,
    Stream,
    VerdictReply,
    answer,
    error,
    learned,
    pong,
    read_first,
    read_rest,
    symbols,
)
from tests.spamd.conftest import request

MESSAGE = b"From: Anna <anna@example.org>\nSubject: Library books\n\nHello Bob,\ncaf\xc3\xa9\n"
SPAM, HAM = VerdictReply(True, 7.3), VerdictReply(False, -0.9)


class IncompleteError(Exception):
    """More would have been waited for."""


def read(*pieces: bytes, most: int = 1000, ends: bool = True, admitted: list[int] | None = None) -> SpamdRequest:
    """The request in a stream that comes in these pieces, and then ends, or keeps its reader waiting."""
    left = [piece for piece in pieces if piece]

    async def receive() -> bytes:
        if not (left or ends):
            raise IncompleteError
        return left.pop(0) if left else b""

    async def admit(size: int) -> None:
        if admitted is not None:
            admitted.append(size)

    async def reading() -> SpamdRequest:
        stream = Stream(receive)
        return await read_rest(stream, await read_first(stream), admit, most)

    try:
        reading().send(None)
    except StopIteration as done:
        found: SpamdRequest = done.value
        return found
    raise AssertionError("it waits for something else")


def fault(sent: bytes, most: int = 1000) -> RequestError:
    """Why a stream holds no request."""
    with pytest.raises(RequestError) as caught:
        read(sent, most=most)
    return caught.value


# What clients send


def test_spamc() -> None:
    """spamc sends its command, the user, the length and the message, and closes its sending half."""
    sent = b"CHECK SPAMC/1.5\r\nUser: bob@example.net\r\nContent-length: %d\r\n\r\n" % len(MESSAGE) + MESSAGE
    assert read(sent) == SpamdRequest(Command.CHECK, (1, 5), "bob@example.net", MESSAGE)


def test_length_without_end() -> None:
    """amavis keeps the stream open after the message: the request is whole by its length."""
    sent = b"SYMBOLS SPAMC/1.3\r\nContent-length: %d\r\n\r\n" % len(MESSAGE) + MESSAGE
    assert read(sent, ends=False) == SpamdRequest(Command.SYMBOLS, (1, 3), "", MESSAGE)


def test_end_without_length() -> None:
    """Haraka tells no length: the request is whole when the stream ends, and not before."""
    sent = b"HEADERS SPAMC/1.4\r\nUser: bob\r\n\r\n" + MESSAGE
    with pytest.raises(IncompleteError):
        read(sent, ends=False)
    assert read(sent) == SpamdRequest(Command.HEADERS, (1, 4), "bob", MESSAGE)


def test_names_and_line_ends() -> None:
    """Field names in any case, line ends of LF alone, blanks, and fields that nobody knows are read."""
    sent = b"REPORT SPAMC/1.2\nuser:bob \nX-Other: 1\nCONTENT-LENGTH : 3\n\nabc"
    assert read(sent) == SpamdRequest(Command.REPORT, (1, 2), "bob", b"abc")


def test_ping_with_more() -> None:
    """PING is answered by its first line; the fields and the empty line that follow in 1.5 are not waited for."""
    for sent in (b"PING SPAMC/1.2\r\n", b"PING SPAMC/1.5\r\n\r\n", b"PING SPAMC/1.5\r\nUser: x\r\n\r\nmore"):
        assert read(sent, ends=False).command is Command.PING


@pytest.mark.parametrize(
    ("fields", "label", "is_set", "is_removed"),
    [
        (["Message-class: spam", "Set: local"], Label.SPAM, True, False),
        (["Set: local", "Message-class: ham"], Label.HAM, True, False),
        (["Remove: local"], None, False, True),
        (["Message-class: spam", "Set: local,remote"], Label.SPAM, True, False),
        (["Message-class: spam", "Set: local, remote"], Label.SPAM, True, False),
        (["Message-class: ham", "Set: local", "Remove: remote"], Label.HAM, True, False),
        (["Message-class: spam", "Set: remote"], Label.SPAM, False, False),
    ],
)
def test_tell(fields: list[str], label: Label | None, is_set: bool, is_removed: bool) -> None:
    """TELL names what to learn or forget here; its parts about other databases are ignored."""
    found = read(request("TELL", MESSAGE, "1.5", *fields))
    assert (found.label, found.set_local, found.remove_local) == (label, is_set, is_removed)


def test_compressed() -> None:
    """A compressed message is inflated; its Content-length is that of the sent bytes."""
    assert read(request("CHECK", zlib.compress(MESSAGE), "1.5", "Compress: zlib")).message == MESSAGE


def test_end_of_what_is_compressed() -> None:
    """A compressed message ends with its stream: bytes behind it are not read, whatever the given length."""
    packed = zlib.compress(MESSAGE)
    for told in (True, False):
        sent = request("CHECK", packed + b"more" * 50, "1.5", "Compress: zlib", length=told)
        assert read(sent[:-150], sent[-150:-90], ends=False).message == MESSAGE


def test_names_of_users() -> None:
    """Any bytes are a user's name: it selects nothing."""
    assert read(request("CHECK", b"", user="../../x")).user == "../../x"
    assert read(b"CHECK SPAMC/1.2\r\nUser: \xff\x1b[2J\r\n\r\n").user == "\ufffd\x1b[2J"


# What is no request


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"CHECK SPAMC/1.5",
        b"CHECK SPAMC/1.5\r\nUser: bob\r\n",
        b"CHECK SPAMC/x\r\n\r\n",
        b"EAT SPAMC/1.5\r\n\r\n",
        b"check SPAMC/1.5\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nno colon\r\n\r\n",
        b"CHECK SPAMC/1.5\r\n: no name\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nContent-length: -1\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nContent-length: 1e3\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nCompress: gzip\r\n\r\n",
        b"CHECK SPAMC/1.5\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(257)) + b"\r\n",
        b"CHECK SPAMC/1.5\r\nUser: " + b"x" * 10_000,
        b"x" * 10_000,
        request("TELL", b"", "1.5", "Set: local"),
        request("TELL", b"", "1.5", "Message-class: junk", "Set: local"),
        request("TELL", b"", "1.5", "Message-class: spam", "Set: local", "Remove: local"),
        request("CHECK", b"no zlib", "1.5", "Compress: zlib"),
        request("CHECK", zlib.compress(MESSAGE)[:-5], "1.5", "Compress: zlib"),
    ],
)
def test_malformed(sent: bytes) -> None:
    """A request that cannot be read is answered by 76 with the reason, on one line."""
    found = fault(sent)
    assert found.status is ResponseStatus.MALFORMED
    assert re.fullmatch(rb"SPAMD/1\.0 76 Bad header line: \([ -~]+\)\r\n", error(found.status, found.why))


def test_shorter_than_its_length() -> None:
    """A message shorter than the given length is not judged."""
    assert "3 bytes shorter" in fault(b"CHECK SPAMC/1.5\r\nContent-length: 6\r\n\r\nabc").why


def test_longer_than_its_length() -> None:
    """Bytes behind the given length are not a part of the message, in however many pieces they come."""
    sent = b"CHECK SPAMC/1.5\r\nContent-length: 3\r\n\r\nabcdef"
    assert read(sent).message == read(sent[:-3]).message == b"abc"


def test_too_large() -> None:
    """A too large message is refused as soon as its length is given, or it has come."""
    with pytest.raises(IncompleteError):
        read(b"CHECK SPAMC/1.5\r\nContent-length: 10\r\n\r\n", most=10, ends=False)
    for sent in (b"CHECK SPAMC/1.5\r\nContent-length: 11\r\n\r\n", b"CHECK SPAMC/1.5\r\n\r\n" + b"x" * 11):
        with pytest.raises(RequestError, match="more than 10 bytes") as caught:
            read(sent, most=10, ends=False)
        assert caught.value.status is ResponseStatus.REFUSED


@pytest.mark.thorough
def test_bomb() -> None:
    """A message that inflates to too much is refused, and no more than the limit is held."""
    inflated = 200 << 20
    packed = request("CHECK", zlib.compress(bytes(inflated), 9), "1.5", "Compress: zlib")
    tracemalloc.start()
    try:
        with pytest.raises(RequestError, match="more than"):
            read(packed, most=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < inflated / 20


def test_room_is_asked_for() -> None:
    """Room grows with the bytes that come: it doubles each time, up to the most that may come."""
    many = 7 * SMALL
    for sent, asked in (
        (request("CHECK", b"x" * SMALL), []),
        (request("CHECK", b"x" * (SMALL + 1)), [SMALL + 1]),
        (request("CHECK", b"x" * 5 * SMALL), [2 * SMALL, 4 * SMALL, 5 * SMALL]),
        (request("CHECK", b"x" * SMALL, length=False), []),
        (request("CHECK", b"x" * 5 * SMALL, length=False), [2 * SMALL, 4 * SMALL, many]),
        (request("CHECK", zlib.compress(b"x" * SMALL), "1.5", "Compress: zlib"), []),
        (request("CHECK", zlib.compress(b"x" * 5 * SMALL), "1.5", "Compress: zlib"), [2 * SMALL, 4 * SMALL, many]),
    ):
        admitted: list[int] = []
        read(*(sent[at : at + 1000] for at in range(0, len(sent), 1000)), most=many, admitted=admitted)
        assert admitted == asked


REQUESTS = st.sampled_from(
    [
        request("CHECK", MESSAGE),
        request("HEADERS", MESSAGE, "1.4", length=False),
        request("TELL", MESSAGE, "1.5", "Message-class: spam", "Set: local"),
        request("REPORT", zlib.compress(MESSAGE), "1.2", "Compress: zlib"),
        request("CHECK", MESSAGE)[:-7],
        request("CHECK", MESSAGE) + b"and more",
        request("CHECK", zlib.compress(b"\0" * 2000), "1.5", "Compress: zlib"),
        request("CHECK", zlib.compress(MESSAGE) + b"and more", "1.5", "Compress: zlib"),
        request("CHECK", zlib.compress(MESSAGE) + b"and more", "1.5", "Compress: zlib", length=False),
        b"CHECK SPAMC/1.5\r\nno colon\r\n\r\n",
        b"PING SPAMC/1.5\r\n\r\n",
        b"x" * 9000,
    ]
)


def _outcome(pieces: list[bytes]) -> object:
    try:
        return read(*pieces)
    except RequestError as fault:
        return fault.status, fault.why


@given(sent=REQUESTS | st.binary(max_size=200), cuts=st.lists(st.integers(0, 300), max_size=20))
@example(sent=request("CHECK", MESSAGE), cuts=list(range(300)))
def test_any_split(sent: bytes, cuts: list[int]) -> None:
    """A stream is the same request, or the same fault, in whatever pieces it is read."""
    places = sorted({min(cut, len(sent)) for cut in cuts})
    pieces = [sent[start:end] for start, end in zip([0, *places], [*places, len(sent)], strict=True)]
    assert _outcome(pieces) == _outcome([sent])


# What clients accept

# Exim 4.96, src/spam.c, as a regular expression: nothing but the line may stand between the status and the empty line.
_EXIM = re.compile(rb"SPAMD/\S{1,7} 0 EX_OK\r\nSpam: \S+ ; -?\d+\.\d / -?\d+\.\d\r\n\r\n")
_HARAKA = re.compile(r"(True|False) ; (-?\d+\.\d) / (-?\d+\.\d)$")


@pytest.mark.parametrize("command", ["CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM"])
@pytest.mark.parametrize("told", [SPAM, HAM])
def test_answer_to_exim(command: str, told: VerdictReply) -> None:
    """To SPAMC/1.2 no field is answered but the verdict: Exim would find none."""
    asked = read(request(command, MESSAGE, "1.2"))
    assert _EXIM.match(b"".join(answer(asked, told, [b"report"])))


def test_answer_to_process_of_old() -> None:
    """PROCESS of SPAMC/1.2 gets a length and no verdict."""
    asked = read(request("PROCESS", MESSAGE, "1.2"))
    assert b"".join(answer(asked, SPAM, [MESSAGE])) == (
        b"SPAMD/1.1 0 EX_OK\r\nContent-length: %d\r\n\r\n" % len(MESSAGE) + MESSAGE
    )


@pytest.mark.parametrize("command", ["SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS"])
def test_answer_with_length(command: str) -> None:
    """From SPAMC/1.3 on, the length of the body comes before the verdict, even if the body is empty."""
    for body in ([], [b"two", b"parts"]):
        asked = read(request(command, MESSAGE, "1.3"))
        head, _, sent = b"".join(answer(asked, HAM, body)).partition(b"\r\n\r\n")
        length, verdict = head.split(b"\r\n")[1:]
        assert length == b"Content-length: %d" % len(sent)
        assert _HARAKA.search(verdict.decode())


def test_check_has_no_length() -> None:
    """The answer to CHECK is the verdict alone."""
    asked = read(request("CHECK", MESSAGE))
    assert b"".join(answer(asked, HAM)) == b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; -0.9 / 5.0\r\n\r\n"


def test_symbols_end() -> None:
    """Names are divided by commas, and a single one has one too; a line end follows before SPAMC/1.3."""
    assert symbols(read(request("SYMBOLS", MESSAGE, "1.3")), ["A", "B"]) == b"A,B"
    assert symbols(read(request("SYMBOLS", MESSAGE, "1.2")), ["A", "B"]) == b"A,B\r\n"
    assert symbols(read(request("SYMBOLS", MESSAGE, "1.3")), ["A"]) == b"A,"


def test_no_empty_line_after_an_error() -> None:
    """An error is one line: an empty one after it is success to `spamc -L`. Nor has the answer to PING one."""
    for sent in (pong(), *(error(status, "why") for status in ResponseStatus)):
        assert sent.endswith(b"\r\n")
        assert sent.count(b"\n") == 1


def test_learned() -> None:
    """The answer says what was done, or nothing for no change; both end with one empty line."""
    setting = read(request("TELL", MESSAGE, "1.5", "Message-class: spam", "Set: local"))
    removing = read(request("TELL", MESSAGE, "1.5", "Remove: local"))
    ok = b"SPAMD/1.1 0 EX_OK\r\n"
    assert learned(setting, is_changed=True) == ok + b"DidSet: local\r\n\r\n"
    assert learned(removing, is_changed=True) == ok + b"DidRemove: local\r\n\r\n"
    assert learned(setting, is_changed=False) == learned(removing, is_changed=False) == ok + b"\r\n"

"""The kinds of token: the one place that lists them, with their names in words, and where they are shown.

A token is `PREFIX:TEXT`, or a bare word of the text. The tokenizers write the prefixes exactly as listed here; a test
reads messages that contain all of them. The ledger writes the codes to disk: see `ledger/lessons/sqlite/kind_codes.py`.
"""

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """Tokens with one prefix; "" for the bare words of the text.

    words: the words before the text, for a person. first, last: used instead if the text is a pair at the very
    beginning or end. of_header: the kind concerns the header alone; a person reads the Subject, so it does not count as
    header. page: where the page Words shows it. code: the character for the prefix on disk, "" for none. family: the
    group that it is weighed with, if not this kind alone. in_bits: the text n means a number below two to the power of
    n. place: of words of a text, the words for their place, if an example of a number follows.
    """

    prefix: str
    words: str
    of_header: bool = False
    page: str = ""
    first: str = ""
    last: str = ""
    code: str = ""
    family: str = ""
    in_bits: bool = False
    place: str | None = None


class Note(NamedTuple):
    """A whole token that notes a fact, in words."""

    token: str
    words: str
    of_header: bool = False


# All of these say that a message is HTML, which a young filter takes for spam. (1−ROCA)% of csdmc2010 over four orders:
# as separate families 0.0193, as one 0.0186; without `mime:` in it 0.0187, without `image-*:` 0.0191. Enron has no
# HTML.
_HTML = "html:"

_KINDS = (
    Kind("", "the word", page="text", place=""),
    Kind("subject", "in the subject,", page="subject", code="F", place="in the subject,"),
    Kind(
        "subject-pair",
        "in the subject, the words",
        page="subject",
        first="a subject that begins with",
        last="a subject that ends with",
        code="B",
        place="in the subject,",
    ),
    Kind("opening", "at the beginning, the word", code="D", place="at the beginning,"),
    Kind(
        "opening-pair",
        "at the beginning, the words",
        first="a text that begins with",
        code="A",
        place="at the beginning,",
    ),
    Kind("closing", "at the end, the word", code="C", place="at the end,"),
    Kind("shout", "in capital letters,", code="L"),
    Kind("from", "the sender", of_header=True, page="sender", code="O"),
    Kind("from-name", "the sender's name", of_header=True, page="sender", code="K"),
    Kind("from-number", "the number of senders, below", in_bits=True, of_header=True),
    Kind("reply-to", "the address for answers,", of_header=True, page="sender", code="Q"),
    Kind("reply-to-name", "the name for answers,", of_header=True),
    Kind("reply-to-number", "the number of addresses for answers, below", in_bits=True, of_header=True),
    Kind("to", "the recipient", of_header=True, code="S"),
    Kind("to-name", "the recipient's name", of_header=True, code="R"),
    Kind("to-number", "the number of recipients, below", in_bits=True, of_header=True),
    Kind("cc", "the recipient of a copy,", of_header=True),
    Kind("cc-name", "the name of a copy's recipient,", of_header=True),
    Kind("cc-number", "the number of copies, below", in_bits=True, of_header=True),
    Kind("known", "that you know its", page="sender"),
    Kind("message-id", "the Message-ID of", of_header=True, page="host", code="J"),
    Kind("message-id-shape", "the shape of the Message-ID,", of_header=True, code="N"),
    Kind("received", "the host that brought it,", of_header=True, page="host"),
    Kind("received-ip", "the address that brought it,", of_header=True, page="host", code="T"),
    Kind("received-claimed", "a host on its way,", of_header=True, page="host", code="G"),
    Kind("received-claimed-ip", "an address on its way,", of_header=True, code="E"),
    Kind("received-number", "the number of hosts on its way,", of_header=True),
    Kind("date-zone", "the time zone", of_header=True),
    Kind("date-shape", "a date that is written like", of_header=True),
    Kind("skew", "the minutes from its date to its arrival, as a power of two,", of_header=True),
    Kind("skew-first", "the minutes from its date to the first server, as a power of two,", of_header=True),
    Kind("agree", "how its header agrees with itself:", of_header=True),
    Kind("from-shape", "the shape of the sender's address,", of_header=True),
    Kind("from-name-shape", "the shape of the sender's name,", of_header=True),
    Kind("helo-shape", "the shape of what the server that brought it calls itself,", of_header=True),
    Kind("rdns", "the looked-up name of the server that brought it,", of_header=True),
    Kind("rdns-shape", "the shape of the looked-up name of the server,", of_header=True),
    Kind("rdns-digits", "how many numbers are in the looked-up name of the server,", of_header=True),
    Kind("refers", "that it answers another message by", of_header=True),
    Kind("field", "the header field", of_header=True),
    Kind("x-mailer", "in the name of the mail program,", of_header=True),
    Kind("user-agent", "in the name of the mail program (User-Agent),", of_header=True),
    Kind("x-mimeole", "in the name of Microsoft's mail library,", of_header=True),
    Kind("x-originating-ip", "the address where it was written,", of_header=True),
    Kind("organization", "in the sender's organization,", of_header=True),
    Kind("precedence", "the precedence", of_header=True),
    Kind("x-priority", "the priority", of_header=True),
    Kind("x-msmail-priority", "the priority for Outlook,", of_header=True),
    Kind("importance", "the importance", of_header=True),
    Kind("auto-submitted", "who sent it by itself,", of_header=True),
    Kind("content-language", "the language that it names,", of_header=True),
    Kind("transfer", "the transfer encoding", of_header=True),
    Kind("charset", "the character set"),
    Kind("mime", "the structure", family=_HTML),
    Kind("mime-parts", "the number of parts, below", in_bits=True),
    Kind("attached", "an attachment of type"),
    Kind("attached-extension", "an attachment that ends in"),
    Kind("attached-name", "an attachment named"),
    Kind("attached-size", "an attachment's bytes, below", in_bits=True),
    Kind("attached-html", "in an attached page,", place="in an attached page,"),
    Kind("attached-url", "an attached page with a link to", page="link"),
    Kind("organizer", "who invites,", page="sender"),
    Kind("ics-method", "the method of an invitation,"),
    Kind("url", "a link to", page="link", code="M"),
    Kind("url-ip", "a link to the bare address", page="link"),
    Kind("url-path", "in a link,", page="link", code="H"),
    Kind("url-scheme", "a link that begins with"),
    Kind("mail", "an address at", page="link"),
    Kind("image-url", "a picture from", page="link", code="P", family=_HTML),
    Kind("image-url-ip", "a picture from the bare address", family=_HTML),
    Kind("image-url-path", "in a picture's address,", code="I", family=_HTML),
    Kind("image-url-scheme", "a picture whose address begins with", family=_HTML),
    Kind("image-mail", "a picture that leads to an address at", family=_HTML),
    Kind("html", "in the HTML,"),
    Kind("html-images", "the number of pictures, below", in_bits=True, family=_HTML),
    Kind("html-links", "the number of links, below", in_bits=True, family=_HTML),
    Kind("tag", "the HTML element", family=_HTML),
    Kind("limit", "more than is read,"),
    Kind("4", "at the ends of words,", code="U"),
)
_NOTES = (
    Note("body-empty:", "that it has no text"),
    Note("body-invisible:", "invisible characters in the text"),
    Note("body-lookalike:", "letters of another alphabet in a word of the text"),
    Note("body-styled:", "styled letters in the text"),
    Note("subject:", "an empty subject"),
    Note("subject-pair:^ $", "a subject without words"),
    Note("subject-invisible:", "invisible characters in the subject"),
    Note("subject-lookalike:", "letters of another alphabet in a word of the subject"),
    Note("subject-styled:", "styled letters in the subject"),
    Note("subject-shouts:", "a subject in capital letters"),
    Note("from:none", "that it names no sender", of_header=True),
    Note("from-digits:", "digits in the sender's address", of_header=True),
    Note("from-name:none", "that the sender has no name", of_header=True),
    Note("from-name-is-another-address:", "that the sender's name is another address", of_header=True),
    Note("reply-to:none", "that it names no address for answers", of_header=True),
    Note("reply-to-name:none", "that the address for answers has no name", of_header=True),
    Note("reply-to-name-is-another-address:", "that the name for answers is another address", of_header=True),
    Note("reply-to-elsewhere:", "that answers go to another site", of_header=True),
    Note("reply-to-same:", "that answers go to the sender's site", of_header=True),
    Note("to:none", "that it names no recipient", of_header=True),
    Note("to-name:none", "that the recipient has no name", of_header=True),
    Note("to-name-is-another-address:", "that the recipient's name is another address", of_header=True),
    Note("cc:none", "that nobody gets a copy", of_header=True),
    Note("cc-name:none", "that the recipient of a copy has no name", of_header=True),
    Note("cc-name-is-another-address:", "that the name of a copy's recipient is another address", of_header=True),
    Note("known:answer", "that it answers a message of yours"),
    Note("known:correspondent", "that you know its sender"),
    Note("message-id:none", "that the Message-ID names no host", of_header=True),
    Note("date-zone:none", "a date without a time zone", of_header=True),
    Note("agree:from-path:none", "that no server from outside is known to have brought it", of_header=True),
    Note("agree:from-path:ip", "that a server without a name brought it", of_header=True),
    Note("agree:from-path:same", "that a server of the sender's site brought it", of_header=True),
    Note("agree:from-path:other", "that a server of another site than the sender's brought it", of_header=True),
    Note("rdns:none", "that no name was looked up for the server that brought it", of_header=True),
    Note("rdns:unknown", "that the server that brought it has no name", of_header=True),
    Note("rdns:helo", "a server that calls itself by its name", of_header=True),
    Note("rdns:site", "a server that calls itself by another name of its site", of_header=True),
    Note("rdns:other", "a server that calls itself by a name of another site", of_header=True),
    Note("header-broken:", "a line in the header that is not a field"),
    Note("multipart-broken:", "parts that are not where the header says"),
    Note("multipart-unclosed:", "that its last part has no end"),
    Note("base64-broken:", "an encoding (base64) that is broken"),
    Note("uuencoded:", "a file in the text (uuencode)"),
    Note("charset:none", "that it names no character set"),
    Note("charset-missing:", "letters beyond ASCII without a character set"),
    Note("charset-unknown:", "a character set that nobody knows"),
    Note("charset-wrong:", "a text in another character set than it names"),
    Note("url-user:", "a link with a user's name in it"),
    Note("url-host-escaped:", "a link whose host is written in escapes"),
    Note("url-ip:", "a link to a bare address"),
    Note("url-ip-odd:", "a link to a bare address in an odd notation"),
    Note("url-port:", "a link with a port in it"),
    Note("url-idn:", "a link to a host whose name is not ASCII"),
    Note("url-redirects:", "a link that leads on to another"),
    Note("url-scheme:none", "a link that names no host"),
    Note("image-url-user:", "a picture's address with a user's name in it"),
    Note("image-url-host-escaped:", "a picture's host that is written in escapes"),
    Note("image-url-ip:", "a picture from a bare address"),
    Note("image-url-ip-odd:", "a picture from a bare address in an odd notation"),
    Note("image-url-port:", "a picture's address with a port in it"),
    Note("image-url-idn:", "a picture from a host whose name is not ASCII"),
    Note("image-url-redirects:", "a picture whose address leads on to another"),
    Note("image-url-scheme:none", "a picture whose address names no host"),
    Note("html-broken:", "HTML that cannot be read"),
    Note("html:hidden-text", "hidden text"),
    Note("html:same-colour", "text in the colour of its background"),
    Note("html:link-shows-another-host", "a link that shows another host than it leads to"),
    Note("html:image-instead-of-text", "a picture in the place of text"),
    Note("html:image-attached", "a picture that is attached"),
    Note("html:image-inline", "a picture inside the HTML itself"),
    Note("html:image-invisible", "a picture too small to be seen"),
    Note("limit:message_bytes", "that it is longer than is read"),
    Note("limit:header_bytes", "a header longer than is read"),
    Note("limit:header_fields", "more header fields than are read"),
    Note("limit:field_chars", "a header field longer than is read"),
    Note("limit:parts", "more parts than are read"),
    Note("limit:nesting", "parts inside one another, deeper than is read"),
    Note("limit:text_chars", "a text longer than is read"),
    Note("limit:unspaced_chars", "more letters of Chinese or of another script without spaces than are read"),
    Note("limit:html_chars", "HTML longer than is read"),
    Note("limit:html_tags", "more HTML elements than are read"),
    Note("limit:html_depth", "HTML elements inside one another, deeper than is read"),
    Note("limit:html_open", "more HTML elements open at once than are followed"),
    Note("limit:links", "more links than are read"),
    Note("limit:tokens", "more different words than are counted"),
    Note("limit:work", "that it takes too long to be read to its end"),
)
KINDS: Final = {kind.prefix: kind for kind in _KINDS}
NOTES: Final = {note.token: note for note in _NOTES}
_GRAM, _GRAM_CHARS = "4:", 4
# The other things in a message that a person sees, besides those that the page Words shows.
_SEEN = frozenset(("opening", "opening-pair", "closing", "shout", "to", "to-name", "cc", "cc-name", "attached-name"))
_ARRIVED = {"skew": "it arrived", "skew-first": "its first server had it"}
_SPANS = ((19, "years"), (11, "days"), (6, "hours"), (1, "minutes"))  # from which power of two of minutes on
_FAMILIES = {f"{kind.prefix}:": kind.family for kind in _KINDS if kind.family}


def row_of(token: str) -> Kind | Note | None:
    """Return the note that a token is, or else its kind; None for a prefix that this version does not know.

    >>> row_of("limit:links").words, row_of("subject:hello").words, row_of("hello").words, row_of("other:x")
    ('more links than are read', 'in the subject,', 'the word', None)
    """
    return NOTES.get(token) or KINDS.get(token.partition(":")[0] if ":" in token else "")


def kind(token: str) -> str:
    """Return a token's prefix: `subject:` for `subject:hello`, and "" for all bare words."""
    return token[: token.find(":") + 1]


def gram_in_words(token: str) -> tuple[str, str]:
    """Return what a gram is in its text, for a person, and its letters.

    >>> gram_in_words("4:ing "), gram_in_words("4: of ")
    (('words that end in', 'ing'), ('the short word', 'of'))
    >>> gram_in_words("4:s a b")
    ('in the subject, two words that begin with', 'a b')
    """
    gram, place = token.removeprefix(_GRAM), ""
    if len(gram) > _GRAM_CHARS:
        gram, place = gram[1:], "in the subject, "
    letters = gram.strip(" ")
    words = "two words" if " " in letters else "words"
    if gram == f" {letters} ":
        return f"{place}the short word", letters
    if gram.startswith(" "):
        return f"{place}{words} that begin with", letters
    if gram.endswith(" "):
        return f"{place}{words} that end in", letters
    return KINDS[_GRAM[:-1]].words, letters  # an import may contain any text


def visible(token: str) -> str:
    """Return a token for a table: the blanks of a gram, which are at its ends, as `_`.

    >>> visible("4: of "), visible("subject-pair:a b")
    ('4:_of_', 'subject-pair:a b')
    """
    return token.replace(" ", "_") if token.startswith(_GRAM) else token


def is_header(token: str) -> bool:
    """Tell whether a token concerns the header alone.

    >>> is_header("received:mail.example.org"), is_header("subject:hello"), is_header("hello"), is_header("to-morrow")
    (True, False, False, False)
    """
    row = row_of(token)
    return row is not None and row.of_header


def is_seen(token: str) -> bool:
    """Tell whether a token belongs to what a person sees in a message: words, people, hosts and links.

    >>> is_seen("hello"), is_seen("from:anna@example.org"), is_seen("date-zone:+0100"), is_seen("4:ing ")
    (True, True, False, False)
    """
    row = row_of(token)
    return isinstance(row, Kind) and (bool(row.page) or row.prefix in _SEEN)


def number_in_words(token: str) -> tuple[str, str] | None:
    """Return the meaning of a token with a power of two, for a person, and the number; None for any other token.

    >>> number_in_words("skew:-9"), number_in_words("to-number:3"), number_in_words("to-name:3")
    (('its date is wrong by hours', ''), ('the number of recipients, below', '8'), None)
    >>> number_in_words("skew-first:+2")
    ('its first server had it minutes after its date', '')
    """
    prefix, _, text = token.partition(":")
    row, digits = KINDS.get(prefix), text.lstrip("+-")
    if row is None or not (digits.isascii() and digits.isdecimal() and len(digits) < 3):
        return None  # an import may contain any text
    if row.in_bits:
        return row.words, str(2 ** int(digits))
    if prefix not in _ARRIVED:
        return None
    span = next((word for least, word in _SPANS if int(digits) >= least), "")
    if text.startswith("-") and span:
        return f"its date is wrong by {span}{' at its first server' if prefix == 'skew-first' else ''}", ""
    return f"{_ARRIVED[prefix]} {f'{span} after' if span else 'at the minute of'} its date", ""


def family_of(token: str) -> str:
    """Return the family with which a token shares its weight: its kind, "" for bare words, or several kinds.

    >>> family_of("subject:hello"), family_of("hello"), family_of("tag:p"), family_of("image-url:example.org")
    ('subject:', '', 'html:', 'html:')
    """
    prefix = token[: token.find(":") + 1]  # its kind, without a call: this is asked for each token of each message
    return _FAMILIES.get(prefix, prefix)

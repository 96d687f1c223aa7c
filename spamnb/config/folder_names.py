"""Names of folders: their usual meaning, and their spelling in `roles`."""

import fnmatch
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from spamnb.base.label import Role
from spamnb.base.patterns import lazy_pattern

# --- the usual meaning of a name, in the languages of mail programs ------------------------------------------------

# The special uses of RFC 6154, with the names that clients and servers give these folders by default.
_USUAL = (
    (Role.TRAIN_SPAM, r"(?:train|learn)[ ._-]?(?:as[ ._-]?)?(?:spam|junk)|(?:spam|junk)[ ._-]?(?:train|learn)(?:ing)?"),
    (
        Role.TRAIN_HAM,
        r"(?:train|learn)[ ._-]?(?:as[ ._-]?)?(?:ham|not[ ._-]?(?:spam|junk))|ham[ ._-]?(?:train|learn)(?:ing)?",
    ),
    (
        Role.SPAM,
        r"junk|spam|junk[ ._-]?e?-?mails?|bulk(?: mail)?|unsolicited"
        r"|spam[ -]?verdacht|unerw[üu]nscht(?:e (?:werbung|nachrichten|e?-?mails?))?|werbung"
        r"|courriers? ind[ée]sirables?|ind[ée]sirables?|pourriels?|posta indesiderata"
        r"|correo (?:electr[óo]nico )?no deseado|no deseados?|correo basura|lixo eletr[ôo]nico"
        r"|ongewenste e-?mail|skr[äa]ppost|s[øo]ppelpost|roskaposti|wiadomo[śs]ci[ -]?[śs]mieci|niechciane"
        r"|спам|нежелательная почта|nevy[žz][áa]dan[áa] po[šs]ta|迷惑メール|ジャンク(?:メール)?|垃圾邮件|垃圾郵件|스팸",
    ),
    (
        Role.SENT,
        r"sent(?:[ -]?(?:items|mail|messages))?|gesendet(?:e (?:objekte|elemente|nachrichten|e?-?mails?))?"
        r"|envoy[ée]s?|(?:[ée]l[ée]ments|messages) envoy[ée]s|enviados?|(?:elementos|mensajes|correos) enviados"
        r"|wys[łl]ane|elementy wys[łl]ane|inviat[ai]|posta inviata|elementi inviati|itens enviados"
        r"|verzonden(?: items)?|skickat|отправленные|已发送|送信済み(?:アイテム|メール|トレイ|メッセージ)?",
    ),
    (
        Role.NEUTRAL,
        r"trash|deleted(?: items| messages)?|bin|drafts?|templates?|outbox|notes"
        r"|conversation history|sync issues|all mail|starred|important|scheduled|snoozed"
        # Gmail's own folders, in any language; labels are beside this folder
        r"|\[(?:gmail|google mail)\]"
        r"|papierkorb|gel[öo]scht(?:e (?:objekte|elemente|nachrichten|e?-?mails?))?|entw[üu]rfe|vorlagen"
        r"|postausgang|alle nachrichten"
        r"|corbeille|brouillons?|supprim[ée]s?|mod[èe]les"
        r"|(?:[ée]l[ée]ments|messages) supprim[ée]s|bo[îi]te d['’]envoi|tous les messages"
        r"|papelera(?: de reciclaje)?|borradores|eliminados|bandeja de salida|plantillas"
        r"|(?:elementos|mensajes|correos) (?:eliminados|borrados)"
        r"|kosz|usuni[ęe]te|szkice|szablony|(?:kopie |wersje )?robocze|skrzynka nadawcza"
        r"|elementy usuni[ęe]te|cestino|bozze|posta eliminata|elementi eliminati"
        r"|lixeira|rascunhos|itens (?:exclu[íi]dos|eliminados)"
        r"|prullenbak|concepten|verwijderde items|papperskorg|utkast"
        r"|корзина|черновики|удал[её]нные|已删除|草稿箱"
        r"|[ゴご][ミみ]箱|下書き|削除済み(?:アイテム|メール|トレイ)?"
        r"|送信トレイ|すべてのメール|テンプレート",
    ),
)
_PATTERNS = [(role, lazy_pattern(names, re.IGNORECASE)) for role, names in _USUAL]


def usual_role(folder: str) -> Role:
    """Return the most likely role of a folder with this name. An ordinary folder holds ham.

    >>> usual_role("INBOX"), usual_role("Archive/2024"), usual_role("[Gmail]/Spam")
    (<Role.INBOX: 'inbox'>, <Role.HAM: 'ham'>, <Role.SPAM: 'spam'>)
    """
    if folder.upper() == "INBOX":
        return Role.INBOX
    composed = unicodedata.normalize("NFC", folder)  # macOS writes accents as separate characters
    if composed.startswith("INBOX."):  # a directory of OfflineIMAP, from a server with dots between levels
        composed = composed.replace(".", "/")
    for part in reversed(composed.split("/")):  # a subfolder of Trash is trash, and Sent/2024 is sent mail
        for role, pattern in _PATTERNS:
            if pattern.fullmatch(part.strip()):
                return role
    return Role.HAM


def proposed_roles(folders: Mapping[str, int]) -> dict[str, Role]:
    """Return a role for each folder, by its name. There is always an inbox and a spam folder; they may not exist yet.

    folders: the number of messages in each. Spam is moved to the first spam folder, so the fullest one comes first. A
    folder that is spam only because of the folder around it, such as Junk/2023, comes after the others.

    >>> proposed_roles({"INBOX": 90, "Spam": 2, "Junk E-mail": 70})["Junk E-mail"]
    <Role.SPAM: 'spam'>
    >>> proposed_roles({"INBOX": 90})
    {'INBOX': <Role.INBOX: 'inbox'>, 'Junk': <Role.SPAM: 'spam'>}
    """
    roles = {name: usual_role(name) for name in folders}
    if Role.INBOX not in roles.values():
        roles = {"INBOX": Role.INBOX} | roles
    spam = [name for name, role in roles.items() if role is Role.SPAM]
    others = {name: role for name, role in roles.items() if role is not Role.SPAM}
    spam.sort(key=lambda name: (usual_role(name.rpartition("/")[2]) is not Role.SPAM, -folders[name]))
    return others | dict.fromkeys(spam or ["Junk"], Role.SPAM)


# --- the spelling of folders: names, patterns, and the spellings of other programs ---------------------------------

_SIGN = lazy_pattern(r"\[[*?]\]|[*?]")
_OPENING = lazy_pattern(r"\[(?![*?]\])")  # `fnmatch` takes it for the start of a set of characters


def is_pattern(written: str) -> bool:
    """Return whether this is a pattern for several folders: "*" stands for anything, "?" for one character.

    "[" alone means itself, since Gmail's folders begin with it. "[*]" and "[?]" mean the characters themselves.

    >>> is_pattern("Lists/*"), is_pattern("[Gmail]/Spam"), is_pattern("what[?]")
    (True, False, False)
    """
    return any(len(sign) == 1 for sign in _SIGN.findall(written))


def name_of(written: str) -> str:
    """Return the folder's name for a spelling that is not a pattern: `what?` for `what[?]`."""
    return _SIGN.sub(lambda sign: sign.group()[1:-1], written)


def written(name: str) -> str:
    """Return the spelling of a folder's name: `what[?]` for `what?`. `name_of` is the inverse."""
    return name.translate({ord(sign): f"[{sign}]" for sign in "*?"})


def matches(pattern: str, folder: str) -> bool:
    """Return whether a folder's name matches a pattern; "*" also matches "/".

    >>> matches("Lists/*", "Lists/Python/Dev"), matches("Lists/*", "Lists"), matches("20??", "2024")
    (True, False, True)
    """
    return _expression(pattern).fullmatch(folder) is not None


@lru_cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(_OPENING.sub("[[]", pattern)))


def plain_spelling(written: str, layout: str) -> str:
    """Return our spelling of a folder that is written as its directory in a Maildir++, or as IMAP servers name it.

    `.Junk` can only be a directory of a Maildir++. A dot divides levels there. So with the layout "maildir++",
    `INBOX.Junk` is Junk with the usual prefix of Courier and Dovecot; in another layout it may be a folder.

    >>> plain_spelling(".Archive.2024", "auto"), plain_spelling("INBOX.Junk", "maildir++")
    ('Archive/2024', 'Junk')
    >>> plain_spelling("INBOX.Junk", "auto"), plain_spelling("INBOX", "maildir++")
    ('INBOX.Junk', 'INBOX')
    """
    if "/" in written:
        return written
    if written.startswith("."):
        return written[1:].replace(".", "/")
    return written.removeprefix("INBOX.").replace(".", "/") if layout == "maildir++" else written

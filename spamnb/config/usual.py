"""What folders are usually called, in the languages that mail programs speak."""

import re

from spamnb.config.roles import Role

# RFC 6154's special uses, and the names that clients and servers give those folders by themselves.
_USUAL = (
    (Role.TRAIN_SPAM, r"(?:train|learn)[ ._-]?(?:as[ ._-]?)?(?:spam|junk)|(?:spam|junk)[ ._-]?(?:train|learn)(?:ing)?"),
    (
        Role.TRAIN_HAM,
        r"(?:train|learn)[ ._-]?(?:as[ ._-]?)?(?:ham|not[ ._-]?(?:spam|junk))|ham[ ._-]?(?:train|learn)(?:ing)?",
    ),
    (
        Role.SPAM,
        r"junk|spam|junk[ ._-]?e?-?mails?|bulk(?: mail)?|unsolicited|spamverdacht|unerw[üu]nscht|werbung"
        r"|courrier ind[ée]sirable|ind[ée]sirables?|posta indesiderata|correo (?:no deseado|basura)"
        r"|lixo eletr[ôo]nico|ongewenste e-?mail|skr[äa]ppost|s[øo]ppelpost|roskaposti|wiadomo[śs]ci-?[śs]mieci"
        r"|спам|нежелательная почта|nevy[žz][áa]dan[áa] po[šs]ta|迷惑メール|垃圾邮件|垃圾郵件|스팸",
    ),
    (
        Role.NEUTRAL,
        r"trash|deleted(?: items| messages)?|bin|drafts?|sent(?:[ -]?(?:items|mail|messages))?|templates?|outbox|notes"
        r"|papierkorb|gel[öo]schte (?:objekte|elemente)|entw[üu]rfe|gesendet(?:e (?:objekte|elemente))?|postausgang"
        r"|corbeille|brouillons|envoy[ée]s|[ée]l[ée]ments (?:envoy[ée]s|supprim[ée]s)|messages envoy[ée]s"
        r"|cestino|bozze|inviata|posta inviata|papelera|borradores|enviados|elementos (?:enviados|eliminados)"
        r"|lixeira|rascunhos|prullenbak|concepten|verzonden(?: items)?|papperskorg|utkast|skickat"
        r"|kosz|kopie robocze|wys[łl]ane|корзина|черновики|отправленные|ゴミ箱|下書き|送信済み|已删除|草稿箱|已发送"
        r"|all mail|alle nachrichten|tous les messages|starred|important|scheduled|snoozed|vorlagen",
    ),
)
_PATTERNS = [(role, re.compile(pattern, re.IGNORECASE)) for role, pattern in _USUAL]


def usual_role(folder: str) -> Role:
    """The role that a folder of this name most likely has; an ordinary folder holds ham.

    >>> usual_role("INBOX"), usual_role("Archive/2024"), usual_role("[Gmail]/Spam")
    (<Role.INBOX: 'inbox'>, <Role.HAM: 'ham'>, <Role.SPAM: 'spam'>)
    """
    if folder.upper() == "INBOX":
        return Role.INBOX
    for part in reversed(folder.split("/")):  # a sub-folder of Trash is trash, and Sent/2024 is sent mail
        for role, pattern in _PATTERNS:
            if pattern.fullmatch(part.strip()):
                return role
    return Role.HAM

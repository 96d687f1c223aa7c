"""What folders are usually called, in the languages that mail programs speak."""

import re
import unicodedata

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
        r"junk|spam|junk[ ._-]?e?-?mails?|bulk(?: mail)?|unsolicited"
        r"|spam[ -]?verdacht|unerw[üu]nscht(?:e (?:werbung|nachrichten|e?-?mails?))?|werbung"
        r"|courriers? ind[ée]sirables?|ind[ée]sirables?|pourriels?|posta indesiderata"
        r"|correo (?:electr[óo]nico )?no deseado|no deseados?|correo basura|lixo eletr[ôo]nico"
        r"|ongewenste e-?mail|skr[äa]ppost|s[øo]ppelpost|roskaposti|wiadomo[śs]ci[ -]?[śs]mieci|niechciane"
        r"|спам|нежелательная почта|nevy[žz][áa]dan[áa] po[šs]ta|迷惑メール|ジャンク(?:メール)?|垃圾邮件|垃圾郵件|스팸",
    ),
    (
        Role.NEUTRAL,
        r"trash|deleted(?: items| messages)?|bin|drafts?|sent(?:[ -]?(?:items|mail|messages))?|templates?|outbox|notes"
        r"|conversation history|sync issues|all mail|starred|important|scheduled|snoozed"
        # Gmail's own folders, whatever they are called; labels lie beside this one
        r"|\[(?:gmail|google mail)\]"
        r"|papierkorb|gel[öo]scht(?:e (?:objekte|elemente|nachrichten|e?-?mails?))?|entw[üu]rfe|vorlagen"
        r"|gesendet(?:e (?:objekte|elemente|nachrichten|e?-?mails?))?|postausgang|alle nachrichten"
        r"|corbeille|brouillons?|envoy[ée]s?|supprim[ée]s?|mod[èe]les"
        r"|(?:[ée]l[ée]ments|messages) (?:envoy[ée]s|supprim[ée]s)|bo[îi]te d['’]envoi|tous les messages"
        r"|papelera(?: de reciclaje)?|borradores|enviados?|eliminados|bandeja de salida|plantillas"
        r"|(?:elementos|mensajes|correos) (?:enviados|eliminados|borrados)"
        r"|kosz|usuni[ęe]te|szkice|szablony|(?:kopie |wersje )?robocze|wys[łl]ane|skrzynka nadawcza"
        r"|elementy (?:wys[łl]ane|usuni[ęe]te)"
        r"|cestino|bozze|inviat[ai]|posta (?:inviata|eliminata)|elementi (?:inviati|eliminati)"
        r"|lixeira|rascunhos|itens (?:enviados|exclu[íi]dos|eliminados)"
        r"|prullenbak|concepten|verzonden(?: items)?|verwijderde items|papperskorg|utkast|skickat"
        r"|корзина|черновики|отправленные|удал[её]нные|已删除|草稿箱|已发送"
        r"|[ゴご][ミみ]箱|下書き|削除済み(?:アイテム|メール|トレイ)?|送信済み(?:アイテム|メール|トレイ|メッセージ)?"
        r"|送信トレイ|すべてのメール|テンプレート",
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
    composed = unicodedata.normalize("NFC", folder)  # macOS writes accents as characters of their own
    if composed.startswith("INBOX."):  # a directory of OfflineIMAP's, where the server divides levels by dots
        composed = composed.replace(".", "/")
    for part in reversed(composed.split("/")):  # a sub-folder of Trash is trash, and Sent/2024 is sent mail
        for role, pattern in _PATTERNS:
            if pattern.fullmatch(part.strip()):
                return role
    return Role.HAM

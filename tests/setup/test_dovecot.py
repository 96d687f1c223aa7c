"""From Dovecot's configuration to a proposal. The texts in `doveconf/` are what doveconf 2.3 prints, and 2.4."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import ConfigError
from spamnb.base.label import Role
from spamnb.setup.doveconf import parse
from spamnb.setup.dovecot import FromDovecot, from_dovecot
from spamnb.setup.dovecot_paths import translated
from tests.table import over_rows

_TEXTS = Path(__file__).with_name("doveconf")


def _read(name: str) -> FromDovecot:
    return from_dovecot(parse((_TEXTS / f"{name}.txt").read_text(encoding="utf-8")))


def _said(text: str) -> FromDovecot:
    return from_dovecot(parse(text))


@pytest.mark.parametrize(
    ("name", "path", "layout", "owner"),
    [
        ("2.3-static", "/var/vmail/{domain}/{local}/Maildir", "maildir++", ("vmail", "vmail")),
        ("2.3-home", "/srv/mail/{domain}/{local}/Maildir", "fs", ("5000", "5000")),
        ("2.3-hashed", "/var/mail/vhosts/{domain}/*/*/{local}/mail", "maildir++", ("vmail", "mail")),
        ("2.3-passwdfile", "/home/vmail/{user}/mail", "maildir++", ("vmail", "vmail")),
        ("2.4-static", "/var/vmail/{domain}/{local}/Maildir", "fs", ("vmail", "vmail")),
        ("2.4-hashed", "/srv/mail/{domain}/*/{local}/mail", "maildir++", ("5000", "5000")),
    ],
)
def test_place_layout_and_owner_are_found(name: str, path: str, layout: str, owner: tuple[str, str]) -> None:
    """Place and owner of the mail come from global settings, a home directory, or a userdb's fields."""
    found = _read(name)
    assert (found.path, found.layout, (found.user, found.group)) == (path, layout, owner)


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        (
            "2.3-home",  # separator = .
            {"Entwürfe": "neutral", "Gesendet/Alt": "sent", "Papierkorb": "neutral", "Spamverdacht": "spam"},
        ),
        ("2.4-static", {"Drafts": "neutral", "Junk": "spam", "Sent Messages": "sent", "Trash": "neutral"}),
        ("2.4-hashed", {"Archive/Spam": "spam", "Archives": "ham"}),  # Maildir++: the usual separator is a dot
        ("2.3-passwdfile", {"Unerwünschte Werbung": "spam"}),
        ("2.3-hashed", {}),
    ],
)
def test_roles_come_from_special_uses(name: str, roles: dict[str, str]) -> None:
    """A folder with a special use gets its role, under the name that it has here."""
    assert _read(name).roles == {folder: Role(role) for folder, role in roles.items()}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("2.3-sdbox", "sdbox.*spamc.*imapsieve"),
        ("2.3-mbox", "mbox.*spamc.*imapsieve"),
        ("2.4-sdbox", "sdbox.*spamc.*imapsieve"),
        ("2.4-imapc", "imapc.*spamc.*imapsieve"),
        ("2.3-system", "system users"),
        ("2.3-sqlhome", "only sql knows the home.*init --host '"),
    ],
)
def test_what_cannot_be_done_names_another_way(name: str, said: str) -> None:
    """Other formats than Maildir, system users, and homes that only a database knows end with what to do instead."""
    with pytest.raises(ConfigError, match=said):
        _read(name)


def test_what_is_not_translated_is_named() -> None:
    """Shared namespaces, keyword lists elsewhere and databases are reported: nobody would look there."""
    notes = "\n".join(_read("2.3-home").notes)
    assert "keywords are in /var/lib/dovecot/%d/%n" in notes
    assert "namespace shared (shared)" in notes
    assert "userdb sql" in notes
    assert _read("2.3-static").notes == ()


@over_rows(
    ("text", "said"),
    [
        ("", "names no format"),
        ("mail_location = /var/vmail/%u", "names no format"),
        ("mail_location = maildir:", "names no format"),
        ("mail_driver = maildir", "Dovecot searches for it"),
        ("mail_location = maildir:/var/vmail/%u:LAYOUT=index", "layout index"),
        ("mail_location = maildir:/var/vmail/%u:DIRNAME=mBoX", "directory mBoX"),
        ("mail_location = maildir:vmail/%u", "not a full path"),
    ],
)
def test_what_is_not_said_is_asked_for(text: str, said: str) -> None:
    """A configuration with an open place, or with unread settings, is a fault that says so."""
    with pytest.raises(ConfigError, match=said):
        _said(text)


def test_what_the_inbox_says_of_itself_comes_first() -> None:
    """The inbox's namespace goes before all mail, and a userdb's field too; a doubled colon is one."""
    both = "mail_location = maildir:/a/%u\nnamespace inbox {\n  inbox = yes\n  location = maildir:/b::c/%u\n}\n"
    assert _said(both).path == "/b:c/{user}"
    static = "mail_location = maildir:/a/%u\nuserdb {\n  args = uid=1 mail=maildir:/c/%u\n  driver = static\n}\n"
    assert _said(static).path == "/c/{user}"


def test_an_inbox_in_another_place_is_said() -> None:
    """INBOX= outside of the Maildir is named; the Maildir itself is not."""
    [note] = _said("mail_location = maildir:/var/vmail/%u:INBOX=/var/inbox/%u").notes
    assert "/var/inbox/%u" in note
    assert _said("mail_location = maildir:/var/vmail/%u:INBOX=/var/vmail/%u/").notes == ()


# --- variables --------------------------------------------------------------------------------------------------


@over_rows(
    ("written", "path"),
    [
        ("/m/%d/%n", "/m/{domain}/{local}"),
        ("/m/%Ld/%Ln/", "/m/{domain}/{local}"),
        ("/m/%n@%d", "/m/{local}@{domain}"),
        ("/m/%{domain}/%{username}", "/m/{domain}/{local}"),
        ("/m/%1u/%u", "/m/*/{user}"),
        ("/m/%d/%1n/%1.1n/%n", "/m/{domain}/*/*/{local}"),
        ("/m/%{md5;truncate=8:user}/%u", "/m/*/{user}"),
        ("/m/x-%2.256Hu/%u", "/m/*/{user}"),
        ("/m/100%%/%u", "/m/100%/{user}"),
        ("/m/%{user|domain}/%{user|username}", "/m/{domain}/{local}"),
        ("/m/%{user | lower}", "/m/{user}"),
        ("/m/%{user | md5 % 256 | hex(2)}/%{user}", "/m/*/{user}"),
        ("/m/%{user | username | substr(0, 1)}/%{user}", "/m/*/{user}"),
    ],
)
def test_variables_become_fields(written: str, path: str) -> None:
    """Names become fields, also in lower case; a part of a name becomes `*`."""
    assert translated(written) == path


@over_rows(
    ("written", "said"),
    [
        ("/m/%d", "does not hold the user's name"),
        ("/m/%Dd/%n", "cannot be read back"),
        ("/m/%d/%1n", "does not hold the user's name"),
        ("/m/%n.mail", "more than one name, {local}.mail"),
        ("/m/%h", "a home directory"),
        ("/m/%s/%u", "%s in .* has no field"),
        ("/m/%L{x}/%u", "has no field"),
        ("/m/%{env:HOME}/%u", "has no field"),
        ("/m/%", "has no field"),
        ("/m/%{user", "has no field"),
        ("/m*/%u", "which is not supported"),
    ],
)
def test_what_has_no_field_is_named(written: str, said: str) -> None:
    """A path that fields cannot say is a fault with the variable, and with what to write instead."""
    with pytest.raises(ConfigError, match=said) as raised:
        translated(written)
    assert "init --host '" in str(raised.value) or "supported" in said


@given(st.text(st.sampled_from("%{}|udnhL1.:/ abc~@*"), max_size=30))
def test_no_path_leads_to_anything_but_a_fault(written: str) -> None:
    """Any path gives a full path with the user's name, or a ConfigError."""
    try:
        path = translated("/" + written)
    except ConfigError:
        return
    assert path.startswith("/")
    assert "{user}" in path or "{local}" in path

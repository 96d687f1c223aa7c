"""Paths with fields: from a path to a user and back, no way out, and no two users in one place."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spamnb.config.template import FIELDS, PathTemplate, fits, is_user_name, parse_template, split_name
from tests.table import over_rows

_LETTER = r"[A-Za-z0-9_=+'&!#$%~*?^`|äλ字-]"
parts = st.from_regex(rf"{_LETTER}(?:(?:{_LETTER}|\.){{0,8}}{_LETTER})?", fullmatch=True)
names = parts | st.builds("{}@{}".format, parts, parts)
anything = st.text(st.sampled_from("ab@./+-=_*{}%\n\0 é") | st.characters(), max_size=12)

# All ways to tell users apart: what stands between the plain directories.
ARRANGED = [
    ["{user}"],
    ["{domain}", "{local}"],
    ["{local}", "{domain}"],
    ["{local}@{domain}"],
    ["{domain}", "{user}"],
    ["{local}", "{user}"],
    ["{local}"],
    ["{domain}", "{local}@{domain}"],
    ["{domain}", "{domain}", "{local}"],
]
texts = st.text(st.characters(exclude_characters="/{}%*\0", exclude_categories=("Cs",)), min_size=1, max_size=6)
plain = texts.filter(lambda text: text not in (".", ".."))


@st.composite
def templates(draw: st.DrawFn) -> PathTemplate:
    """The template of a mailbox, with directories of any name between the fields."""
    components = [draw(plain)]
    for field in draw(st.sampled_from(ARRANGED)):
        components += [*draw(st.lists(plain | st.just("*"), max_size=1)), field]
    components += draw(st.lists(plain, max_size=1))
    return parse_template("/" + "/".join(components))


@given(templates(), names)
def test_path_to_user_and_back(template: PathTemplate, name: str) -> None:
    """A user's path belongs to this user alone, and a name without a place has no path."""
    assume(template.takes(name))
    path = "/".join("ab" if part == "*" else part for part in template.text.split("/"))
    path = str(PathTemplate.of(path).fill(name))
    assert template.match(path) == name
    assert all(fits(component, part) for component, part in zip(template.components, Path(path).parts[1:], strict=True))


@given(templates(), names, names)
def test_two_users_share_nothing(template: PathTemplate, one: str, other: str) -> None:
    """The paths of two users differ, and neither is inside of the other."""
    assume(one != other and template.takes(one) and template.takes(other))
    here, there = template.fill(one), template.fill(other)
    assert here != there
    assert not here.is_relative_to(there)
    assert not there.is_relative_to(here)


@given(templates(), anything | names)
def test_no_way_out(template: PathTemplate, name: str) -> None:
    """For any name a path is below the fixed directory, as deep as the template, or there is none."""
    if not template.takes(name):
        with pytest.raises(ValueError, match="has no place"):
            template.fill(name)
        return
    path = template.fill(name)
    assert Path(os.path.normpath(path)) == path
    assert path.is_relative_to(template.fixed)
    assert len(path.parts) == len(template.components) + 1


@given(templates(), st.lists(anything.map(lambda text: text.replace("/", "")), min_size=1, max_size=6))
def test_only_paths_that_can_be_filled_match(template: PathTemplate, directories: list[str]) -> None:
    """A path that is somebody's is exactly the one that the name gives."""
    path = f"{template.fixed}/{'/'.join(directories)}"
    name = template.match(path)
    if name is not None:
        assert is_user_name(name)
        filled = str(template.fill(name)).split("/")
        assert all(written in ("*", there) for written, there in zip(filled, path.split("/"), strict=True))


@given(anything)
def test_names(text: str) -> None:
    """A name has one part or two with "@" between, of printable letters, and each begins and ends without a dot."""
    if is_user_name(text):
        assert text.isprintable()
        assert not {"/", " ", "{", "}", "\\", '"', ":"} & set(text)
        assert all(part and part[0] != "." and part[-1] != "." for part in text.split("@"))


@over_rows("text", ["o'neil", "a&b", "a!b", "#1", "$a", "50%", "~a", "*", "-x", "jörg", "дмитрий", "a?b^c`d|e", "a.b"])
def test_odd_names(text: str) -> None:
    """A name has the letters of an address without quotation marks (RFC 5321, 4.1.2), or others than those of ASCII."""
    assert is_user_name(text)
    assert is_user_name(f"{text}@example.org")
    assert parse_template("/m/{domain}/{local}").match(f"/m/example.org/{text}") == f"{text}@example.org"


WAYS_OUT = ["", "@", "a@", "@a", "a@b@c", "..", "a/b", ".a", "a."]
NO_NAMES = [*WAYS_OUT, "a\n", "ä" * 128, "a" * 255, "a b", "{user}", "a\u202eb"]


@over_rows("text", NO_NAMES)
def test_no_names(text: str) -> None:
    """A text that could lead elsewhere, or be shown as something else, is not a name."""
    assert not is_user_name(text)
    assert not is_user_name(f"a@{text}")


def test_longest_name() -> None:
    """A name has 254 bytes at most."""
    assert is_user_name("a" * 127 + "@" + "b" * 126)
    assert not is_user_name("a" * 127 + "@" + "b" * 127)
    assert parse_template("/m/{domain}/{local}").match("/m/" + "b" * 127 + "/" + "a" * 127) is None


def test_fields_have_to_agree() -> None:
    """If a field is repeated, or written beside the whole name, a path in which they differ belongs to nobody."""
    template = parse_template("/m/{domain}/{user}/{local}")
    assert template.match("/m/example.org/anna@example.org/anna") == "anna@example.org"
    assert template.match("/m/example.net/anna@example.org/anna") is None
    assert template.match("/m/example.org/anna@example.org/bob") is None
    assert template.match("/m/example.org/anna/anna") is None
    assert parse_template("/{local}/{local}").match("/a/b") is None


def test_who_has_a_place() -> None:
    """`{domain}` is for names with a domain, `{local}` alone for those without, `{user}` for both."""
    both, with_domain, without = map(parse_template, ("/m/{user}", "/m/{domain}/{local}", "/m/{local}"))
    assert [template.takes("anna") for template in (both, with_domain, without)] == [True, False, True]
    assert [template.takes("anna@a") for template in (both, with_domain, without)] == [True, True, False]
    assert [
        [one.takes_all_of(two) for two in (both, with_domain, without)] for one in (both, with_domain, without)
    ] == [
        [True, True, True],
        [False, True, False],
        [False, False, True],
    ]
    assert split_name("anna@a") == ("anna", "a")


def test_fixed_part() -> None:
    """The common part for all users ends above the first field or `*`."""
    template = parse_template("/var/vmail/*/{domain}/mail/{local}")
    assert (template.fixed, template.below) == (Path("/var/vmail"), ("*", "{domain}", "mail", "{local}"))
    assert parse_template("/var/vmail").fixed == Path("/var/vmail")


@over_rows(
    ("written", "says"),
    [
        ("/m/%d/%n", "holds %d; write {domain} for %d"),
        ("/m/{domain}/%n", "holds %n; write {local} for %n"),
        ("/m/%u/Maildir", "holds %u; write {user} for %u"),
        ("/m/%Lu", "holds %Lu; write {user} for %Lu"),
        ("/m/%{user}", "holds %{user}; write {user} for %{user}"),
        ("/m/%{user | domain}", "holds %{user | domain}; write {domain} for %{user | domain}"),
        ("/m/%{user|username|lower}", "write {local} for %{user|username|lower}"),
        ("/m/%{domain}/%{username}", "write {domain} for %{domain}"),
        ("/m/%1n/%n", "and '*' for a directory made of a part of it"),
        ("/m/%2.256Nu/%u", "and '*' for a directory made of a part of it"),
        ("/m/%{md5:user}", "and '*' for a directory made of a part of it"),
        ("/m/%{owner_user}", "write {domain}, {local}, {user} for a name"),
        ("%h/Maildir", "write the home directory's path for %h"),
        ("%{home}/Maildir", "write the home directory's path for %{home}"),
        ("/m/{usr}", "'{usr}' is not a field; the fields are {domain}, {local}, {user} (did you mean {user}?)"),
        ("/m/{User}", "'{User}' is not a field"),
        ("/m/{domain}-{local}", "'{domain}-{local}' is more than one field"),
        ("/m/{domain}@{local}", "is more than one field"),
        ("/m/x{user}", "'x{user}' has text beside a field"),
        ("/m/{user}.d/a", "'{user}.d' has text beside a field"),
        ("/m/{domain}/Maildir", "has a field for the domain but none for the user; add {local}, or {user}"),
        ("/m/*/Maildir", "'*' is only allowed beside fields"),
        ("/m/a*/{user}", "'a*' has text beside '*'"),
        ("/m/../{user}", "'..' leads out"),
        ("/m/{user}/./a", "'.' leads out"),
    ],
)
def test_faults(written: str, says: str) -> None:
    """A text that cannot be a path of users is a fault that says what to write."""
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_template(written)


def test_names_of_files() -> None:
    """A file's name may have text around its field, a directory's may not; `*` is only for mailboxes."""
    template = parse_template("/own/{domain}/x-{local}@{domain}.yaml", is_file=True)
    assert str(template.fill("anna@a")) == "/own/a/x-anna@a.yaml"
    assert template.match("/own/a/x-anna@a.yaml") == "anna@a"
    for written in ("/own/x{domain}/{local}.yaml", "/own/*/{user}.yaml", "/own/{domain}-{local}.yaml"):
        with pytest.raises(ValueError, match="write"):
            parse_template(written, is_file=True)


@over_rows("written", ["/home/anna/Maildir", "/m/100%", "/m/%d0%bf", "/m/a*b", "/m/{", "/m/}{", "/m/%done"])
def test_plain_paths(written: str) -> None:
    """A path without fields is what it is, though it has a sign that fields are written with."""
    assert parse_template(written).fields == frozenset()


@given(anything)
def test_any_text_is_read_or_a_fault(text: str) -> None:
    """Any text is a template that separates users, a plain path, or a fault in words."""
    try:
        template = parse_template(f"/m/{text}")
    except ValueError as fault:
        assert "write" in str(fault) or "fields are" in str(fault)
    else:
        assert template.tells_users_apart or not template.fields
        assert not (set(FIELDS) - template.fields) & set(template.components)

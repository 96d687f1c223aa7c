import pytest

from spamnb.mail.reading import printable, read
from spamnb.mail.tokens.text import normalise, words
from spamnb.mail.tokens.urls import urls
from tests.table import over_rows


def tokens(body: str) -> dict[str, int]:
    return dict(read(b"Content-Type: text/plain; charset=utf-8\n\n" + body.encode()).tokens)


@over_rows(
    ("text", "found"),
    [
        ("Pay now, NOW", {"pay": 1, "now": 2}),
        ("$99.50 and 1,000,000", {"$dd.dd": 1, "and": 1, "d,ddd,ddd": 1}),
        ("100% of 2024", {"ddd%": 1, "of": 1, "dddd": 1}),
        ("€5 or £6", {"€d": 1, "or": 1, "£d": 1}),
        ("don't re-use R&D", {"don't": 1, "re-use": 1, "r&d": 1}),
        ("V I A G R A now", {"viagra": 1, "now": 1}),
        ("v.i.a.g.r.a", {"viagra": 1}),
        ("a b c", {"a": 1, "b": 1, "c": 1}),
        ("3days", {"d": 1, "days": 1}),
        ("größer ÉTÉ", {"größer": 1, "été": 1}),
        ("漢字文", {"漢字": 1, "字文": 1}),
        ("字", {"字": 1}),
        ("abc漢字", {"abc": 1, "漢字": 1}),
        ("🔥🔥 sale✅ ★★★★", {"🔥": 1, "sale": 1, "✅": 1, "★": 1}),
        ("━━━ a │ b", {"a": 1, "b": 1}),
        ("สวัสดี", None),
        ("under_score", {"under": 1, "score": 1}),
        ("", {}),
    ],
)
def test_words(text, found):
    """Words in lower case, numbers by shape, money, letters set apart, and scripts without spaces by pairs."""
    counted = words(text, 24)
    assert counted if found is None else counted == found


@pytest.mark.parametrize("text", ["plain words 12 a-b", "it's $5.00, 3% off-line & r&d x", "1a 2-b c-3 d_e 'f' -g-"])
def test_ascii_text_has_the_words_that_any_text_has(text):
    """Text that is all ASCII has the words that it has beside other letters."""
    general = words(text + " é", 24)
    assert general.pop("é") == 1
    assert words(text, 24) == general


@over_rows(
    ("text", "shown", "notes"),
    [
        ("plain", "plain", []),
        ("ｖiаgra", "viagra", ["styled", "lookalike"]),
        ("привет", "привет", []),
        ("vi\u200bagra", "viagra", ["invisible"]),
        ("vi\x01ag\x7fra", "viagra", ["invisible"]),
        ("vi\x1cagra\x02", "viagra\x02", ["invisible"]),
        ("vi\ue000ag\U000f0000ra\x93é", "viagraé", ["invisible"]),
        ("vi\U000e0061agra", "viagra", ["invisible"]),
        ("\uf0b7 viagra", "\uf0b7 viagra", []),
        ("v\u0332i\u0332a\u0332g\u20ddra", "viagra", []),
        ("\u202eargaiv\u202c now", "viagra now", ["invisible"]),
        ("\u202eargaiv\nnow", "viagra\nnow\nwon", ["invisible"]),
        ("vi\u200dag\ufe0fra", "viagra", ["invisible"]),
        ("❤\ufe0f 👨\u200d👩\u200d👧 1\ufe0f\u20e3 می\u200cخواهم", "❤ 👨👩👧 1\u20e3 میخواهم", []),
        ("ﬁne ①", "fine 1", []),
        ("𝐯𝐢𝐚𝐠𝐫𝐚", "viagra", ["styled"]),
        ("vi𝐚gra", "viagra", ["styled"]),
        ("ｆｒｅｅ", "free", ["styled"]),
        ("Ⓕree ⓕⓡⓔⓔ", "Free free", ["styled"]),
        ("🄵🅁🄴🄴", "FREE", ["styled"]),
        ("ⒸⒽⒺⒶⓅ", "CHEAP", ["styled"]),
        ("ＡＢＣ社 ＡＢＣです", "ABC社 ABCです", []),
        ("ＡＢＣ 주식회사", "ABC 주식회사", []),
        ("无料 𝗙𝗿𝗲𝗲", "无料 Free", ["styled"]),
        ("１２３ ！ ａ", "123 ! a", []),
        ("𝑥 = 2𝑎 + Ⓑ", "x = 2a + B", []),
        ("Ⓒ Acme ⒸAcme AcmeⓇ ⒜First", "C Acme CAcme AcmeR (a)First", []),
        ("Word™ 20℃ № ½ ﬂy ² ª ℡ Ⅳ", "WordTM 20°C No 1⁄2 fly 2 a TEL IV", []),
        ("e\u0301", "é", []),
        ("a\u0300\u0316\u0300b", "ab", []),
    ],
)
def test_disguises_are_undone_and_told(text, shown, notes):
    """Compatibility forms, invisible characters and look-alike letters become plain letters, with a note."""
    assert normalise(text) == (shown, notes)


def test_a_disguise_is_a_token():
    """That a word was disguised is a token beside the word."""
    assert {"viagra", "body-lookalike:", "body-invisible:"} <= tokens("vіа\u200bgra").keys()
    assert "subject-lookalike:" in read("Subject: vіagra\n\nx".encode()).tokens
    assert {"free", "body-styled:"} <= tokens("𝗙𝗿𝗲𝗲").keys()
    assert "subject-styled:" in read("Subject: 𝗙𝗿𝗲𝗲\n\nx".encode()).tokens


def test_a_thousand_combining_marks_are_normalised():
    """Marks out of their order, which cost the square of their number at once, are read in stretches."""
    assert normalise("\u0591\u05b0" * 1000)[0]


def test_urls():
    """A URL yields its host, its parent domains and the words of its path; oddities of dishonest URLs have tokens."""
    found = tokens("see http://user@www.shop.example:8080/buy/now?id=5 and https://192.0.2.7/ or www.x.example")
    assert {"url:www.shop.example", "url:shop.example", "url-path:buy", "url-user:", "url-port:"} <= found.keys()
    assert {"url-ip:", "url:x.example"} <= found.keys()
    assert "url-host-escaped:" in tokens("http://%77ww.example/")
    assert "mail:b.example" in tokens("write to a@b.example")


def links(*written: str) -> set[str]:
    """Return the tokens of links, without words of their paths and top-level domains."""
    return {token for token in urls(written) if not token.startswith("url-path:") and token != "url:example"}


@over_rows(
    ("url", "found"),
    [
        ("//a.example/x", {"url:a.example"}),
        ("http:\\\\a.example\\x", {"url:a.example"}),
        ("https:/a.example", {"url:a.example"}),
        ("https:///a.example", {"url:a.example"}),
        (" ht\ntp://a.ex\tample/", {"url:a.example"}),
        ("http://a.example?id=12345678", {"url:a.example"}),
        ("http://a.example?to=x@b.example", {"url:a.example"}),
        ("http://a.example#x@b.example", {"url:a.example"}),
        ("http://b.example@a.example/", {"url-user:", "url:a.example"}),
        ("http://192.0.2.7/", {"url-ip:", "url:192.0.2.7", "url-ip:192.0.2", "url-ip:192.0"}),
        ("http://3221226503/", {"url-ip:", "url-ip-odd:"}),
        ("http://0xc0.0.2.07/", {"url-ip:", "url-ip-odd:"}),
        ("http://[2001:db8::1]:8080/", {"url-ip:", "url:2001:db8::1"}),
        ("http://xn--bcher-kva.example/", {"url-idn:", "url:xn--bcher-kva.example"}),
        ("http://bücher.example/", {"url-idn:", "url:bücher.example"}),
        ("mailto:a@b.example?body=http://c.example", {"url-scheme:mailto", "mail:b.example", "mail:example"}),
        ("data:text/html,<a href=http://a.example>", {"url-scheme:data"}),
        ("#top", {"url-scheme:none"}),
        ("../a/b.html?c=http://d.example", {"url-scheme:none"}),
        (
            "https://r.example/?url=https%3A%2F%2Fwww.a.example%2Fx",
            {"url:r.example", "url-redirects:", "url:a.example"},
        ),
        ("http://r.example/*http://a.example/", {"url:r.example", "url-redirects:", "url:a.example"}),
        ("https://r.example/v2/url?u=http-3A__a.example_x", {"url:r.example", "url-redirects:", "url:a.example"}),
    ],
)
def test_urls_are_read_as_browsers_read_them(url, found):
    """However a link is written, its host is the one that a click goes to; a redirector's target is a host too."""
    assert links(url) == found


@over_rows(
    "text",
    [
        "see http://a.example, please",
        "see http://a.example; or",
        "is it http://a.example?",
        "“http://a.example”",
        "http://a.example…",
        "请点击http://a.example谢谢",
        "http://a.example。",
        "http://a.example으로",
    ],
)
def test_what_is_behind_a_url_is_no_part_of_it(text):
    """Punctuation, and scripts that write on without a space, end a host."""
    found = {token for token in tokens(text) if token.startswith("url")}
    assert found == {"url:a.example", "url:example"}


def test_words_of_a_path_are_unescaped():
    """An escaped path has the words that it has unescaped."""
    assert "url-path:unsubscribe" in tokens("http://a.example/%75nsubscribe")


def test_shouting_and_punctuation():
    """Words in upper case and runs of punctuation are tokens of their own."""
    found = tokens("BUY NOWADAYS!!!! really?! $$$$ -----")
    assert {"shout:nowadays", "!!!", "?!", "$$$", "---", "nowadays"} <= found.keys()
    assert "shout:buy" not in found


@over_rows(
    ("name", "extensions"),
    [
        ("a.pdf", {"pdf"}),
        ("a", {""}),
        ("a.tar.gz", {"tar.gz", "gz"}),
        ("a.b.PDF.exe", {"pdf.exe", "exe"}),
        ("google.com!example.org!1700000000!1700086399.zip", {"00000!1700086399.zip", "zip"}),
        ("your invoice of november." + "x" * 300 + ".exe", {"x" * 16 + ".exe", "exe"}),
        ("invoice " + "a" * 500 + ".zip", {"zip"}),
        ("a." + "b" * 30, {"b" * 20}),
    ],
)
def test_the_extension_of_an_attachment_is_the_end_of_its_name(name, extensions):
    """The last two labels of a file's name, cut at their beginning, and the last alone; however long the name is."""
    raw = b'Content-Type: application/x\nContent-Disposition: attachment; filename="%s"\n\nx' % name.encode()
    found = {token for token in read(raw).tokens if token.startswith("attached-")}
    assert {token for token in found if token.startswith("attached-extension:")} == {
        f"attached-extension:{extension}" for extension in extensions
    }
    assert f"attached-name:{name.lower()[:40]}" in found


def test_an_empty_message_has_tokens():
    """No message is without tokens, and one without text says so."""
    assert "body-empty:" in read(b"").tokens


def test_tokens_are_printable():
    """A stranger's address, host or file name is safe for a terminal and a database."""
    raw = b"From: \x1b[2J\x00 <a\x1b@b\x07.example>\nX-Mailer: \xe2\x80\xae\nMessage-ID: <x@\xed\xa0\x80\x9b>\n"
    raw += b'Content-Type: application/x\nContent-Disposition: attachment; filename="\x1b]0;x\x07.exe"\n\nx'
    for token in read(raw).tokens:
        assert token.isprintable()
        assert token.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\x1b[2Jb\nc\u202ed", "a [2Jb c d"), ("  a   b ", "a b"), ("\ud800x\0", "x"), ("größer", "größer"), ("", "")],
)
def test_printable(text, line):
    """Text from a stranger becomes one harmless line."""
    assert printable(text) == line


@pytest.mark.parametrize(
    ("header", "summary"),
    [
        (b"Subject: Hi\nFrom: A <a@b.example>", "Hi (a@b.example)"),
        (b"X: y", "(no subject) (no sender)"),
        (b"Subject: a\x1b[31mb\nFrom: a@b.example", "a [31mb (a@b.example)"),
    ],
)
def test_summary(header, summary):
    """A message is shown as its subject and sender."""
    assert read(header + b"\n\nx").summary == summary


def test_a_summary_is_short():
    """A summary has at most 100 characters."""
    raw = b"Subject: " + b"long " * 90 + b"\nFrom: " + b"a" * 90 + b"@b.example\n\nx"
    assert len(read(raw).summary) == 100


GRAMS = "4:"


def grams_of(raw: bytes) -> set[str]:
    return {token for token in read(raw).tokens if token.startswith(GRAMS)}


def test_beginnings_and_ends_of_words():
    """Four characters with a blank first or last, of the shown text, each once; the subject's are marked."""
    raw = b"Subject: Hi you\n\nA  red\ncar, http://example.org/ a red\n"
    text = {"4: a r", "4: red", "4:red ", "4: car", "4:ar, ", "4:, a "}
    assert grams_of(raw) == text | {"4:s hi ", "4:s you", "4:syou "}
    assert {number for token, number in read(raw).tokens.items() if token.startswith(GRAMS)} == {1}
    page = b"Content-Type: text/html\n\n<style>x</style><b>A red</b> <a href='http://example.org/'>car,</a> a red"
    assert grams_of(page) == text


@pytest.mark.parametrize("text", ["", "\n \n", "4:abc 4: of 4:sing", "四字成語 漢字 かな", "\x00 \x1b[2J \ufeff \xa0"])
def test_no_text_is_taken_for_a_gram(text):
    """Grams are four characters, whatever a text says, and scripts that set no words apart have none."""
    for raw in (
        f"Subject: {text.strip()}\n\n".encode(),
        b"Content-Type: text/plain; charset=utf-8\n\n" + text.encode(),
    ):
        for gram in grams_of(raw):
            inside = gram.removeprefix("4:s" if raw.startswith(b"S") else GRAMS)
            assert len(inside) == 4
            assert " " in (inside[0], inside[-1])
            assert max(inside) < "\u2e80" or "\ufffd" in inside


def test_grams_are_of_the_beginning():
    """Those of the first thousand characters."""
    assert "4: end" not in grams_of(b"\n" + b"word " * 200 + b"end")
    assert "4: end" in grams_of(b"\n" + b"word " * 199 + b"end")

"""The same text has the same tokens, whatever charset carries it and whatever the message says of it."""

import base64
import quopri

import pytest

from spamnb.mail.parsing.charset_guess import likely_codec
from spamnb.mail.parsing.charsets import codec_name, decode
from spamnb.mail.parsing.encoded_words import decode_field
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read
from spamnb.mail.tokens.text import words
from tests.table import over_rows

CHINESE = "大家好，我昨天下载了最新的版本，但是安装的时候出现错误，请问有谁知道怎么解决？"
INVOICE = "尊敬的客户：您好！我公司现有各类普通发票优惠代开，税率低，验证后付款。有意者请来电联系"
TAIWANESE = "親愛的朋友您好，想要在家工作賺錢嗎？本公司提供最完整的網路課程，免費諮詢，歡迎來電！"
JAPANESE = "お世話になっております。先日の会議の議事録を送付いたします。ご確認のほどよろしくお願いいたします。"
KOREAN = "안녕하세요. 내일 회의 시간이 오후 세 시로 변경되었습니다. 참고 바랍니다."
RUSSIAN = "Здравствуйте! Предлагаем вам новую базу данных предприятий, скидки до конца месяца."
SHOUTED = "ВНИМАНИЕ! СЕМИНАР ДЛЯ БУХГАЛТЕРОВ: НАЛОГОВЫЕ ПРОВЕРКИ"
GREEK = "Αγαπητέ κύριε, σας στέλνουμε τον νέο κατάλογο προϊόντων της εταιρείας μας."
HEBREW = "שלום רב, אנו שמחים להזמין אתכם להרצאה שתתקיים ביום שלישי הקרוב"
ARABIC = "السلام عليكم ورحمة الله وبركاته، نود أن نعلمكم بأن الاجتماع القادم سيكون يوم الأحد"
THAI = "สวัสดีครับ ขอเชิญร่วมงานสัมมนาเรื่องการตลาดออนไลน์ ในวันเสาร์นี้ ลงทะเบียนฟรี"
TURKISH = "Sayın müşterimiz, lütfen sitemizi ziyaret ediniz. Şimdi sipariş verin, ücretsiz kargo fırsatı. İyi günler."
POLISH = "Dzień dobry, zapraszamy w środę na całą godzinę. Proszę o odpowiedź, będzie nam bardzo miło. Życzę zdrowia."
ICELANDIC = (
    "Kæri vinur, þú ert boðinn á fundinn í næstu viku. Það verður kaffi á eftir. Vinsamlegast svaraðu sem fyrst."
)
GERMAN = "Sehr geehrte Damen und Herren, wir möchten Sie über günstige Büromöbel informieren. Grüße aus Köln."
FRENCH = "Voici le compte-rendu de la réunion d’hier. Merci de vérifier les détails ; ça dépend du délai."
SPANISH = "Estimado señor: la próxima reunión será mañana. ¿Puede usted venir? Atención, promoción única."

WRITTEN = [
    *((text, "gb18030") for text in (CHINESE, INVOICE)),
    (TAIWANESE, "big5"),
    *((JAPANESE, codec) for codec in ("shift_jis", "euc_jp", "iso2022_jp")),
    *((KOREAN, codec) for codec in ("euc_kr", "iso2022_kr")),
    (CHINESE, "hz"),
    *((text, codec) for text in (RUSSIAN, SHOUTED) for codec in ("koi8-r", "cp1251")),
    (RUSSIAN, "cp866"),
    (GREEK, "iso8859-7"),
    (HEBREW, "iso8859-8"),
    (ARABIC, "cp1256"),
    (ARABIC, "iso8859-6"),
    (THAI, "tis-620"),
    (TURKISH, "iso8859-9"),
    (POLISH, "cp1250"),
    (POLISH, "iso8859-2"),
    *((text, "cp1252") for text in (GERMAN, FRENCH, SPANISH, ICELANDIC)),
]


def spoken(raw: bytes) -> set[str]:
    """The tokens that come from what a reader reads."""
    technical = ("charset", "transfer:", "mime", "subject-mime")
    return {token for token in read(raw).tokens if not token.startswith(technical)}


def as_utf8(subject: str, text: str) -> set[str]:
    return spoken(f"Subject: {subject}\nContent-Type: text/plain; charset=utf-8\n\n{text}\n".encode())


@over_rows(("text", "codec"), WRITTEN)
def test_a_text_without_a_charset_has_the_words_that_it_has_in_utf8(text, codec):
    """Raw bytes in the subject and the body, with no charset or an unknown one, are read as their language."""
    for claim in (
        b"",
        b"Content-Type: text/plain; charset=x-unknown\n",
        b"Content-Type: text/plain; charset=us-ascii\n",
    ):
        raw = b"Subject: " + text.encode(codec) + b"\n" + claim + b"\n" + text.encode(codec) + b"\n"
        assert spoken(raw) == as_utf8(text, text)


@over_rows(("text", "codec"), [case for case in WRITTEN if case[0] not in {TURKISH, POLISH}])
def test_what_is_called_latin_1_and_is_not_is_read_as_its_language(text, codec):
    """Programs write iso-8859-1 without a thought: another script, and UTF-8, are read as what they are."""
    claim = b"Content-Type: text/plain; charset=iso-8859-1\n\n"
    assert spoken(b"Subject: x\n" + claim + text.encode(codec) + b"\n") == as_utf8("x", text)
    assert spoken(b"Subject: x\n" + claim + text.encode() + b"\n") == as_utf8("x", text)


@over_rows("text", [CHINESE, RUSSIAN, GERMAN, KOREAN])
@over_rows("declared", ["gb2312", "koi8-r", "euc-kr", "windows-1251", "big5", "iso-8859-2", "shift_jis"])
def test_utf8_is_read_as_utf8_whatever_is_declared(text, declared):
    """Text in another charset hardly ever is valid UTF-8."""
    assert decode(text.encode(), declared) == (text, "wrong")


def test_two_chinese_characters_that_are_utf8_by_chance_stay_chinese():
    """If a few bytes of a two-byte charset are valid UTF-8, the declared charset counts."""
    assert decode("联通".encode("gbk"), "gb2312") == ("联通", "")


@pytest.mark.parametrize(
    ("text", "declared", "codec"),
    [("镕基", "gb2312", "gbk"), ("①㈱", "shift_jis", "cp932"), ("뷁", "ks_c_5601-1987", "cp949")],
)
def test_a_charset_means_the_larger_one_that_programs_write(text, declared, codec):
    """GB2312 that is really GBK, Shift_JIS with Windows's additions and the like hold."""
    assert decode(text.encode(codec), declared) == (text, "")


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"\x1b$B-!-j4A;z\x1b(B ok", "①㈱漢字 ok"), (b"\x1b$B4A;z\x1b(I1\x1b(B", "漢字ｱ"), (b"\x1b$@4A;z\x1b(J", "漢字")],
)
@pytest.mark.parametrize("declared", ["iso-2022-jp", ""])
def test_japanese_with_the_additions_of_windows(raw, text, declared):
    """Circled numbers, signs for companies and half-width kana are in ISO-2022-JP, whatever its standard allows."""
    assert decode(raw, declared) == (text, "" if declared else "missing")


@over_rows(
    ("declared", "codec"),
    [
        ("iso-8859-8-i", "cp1255"),
        ("x-sjis", "cp932"),
        ("x-euc-jp", "euc_jp"),
        ("x-gbk", "gb18030"),
        ("GB_2312-80", "gb18030"),
        ("x-x-big5", "cp950"),
        ("windows-874", "cp874"),
        ("windows-936", "gb18030"),
        ("win-1251", "cp1251"),
        ("koi8r", "koi8-r"),
        ("cp50220", "iso2022_jp"),
        ("unicode-1-1-utf-7", "utf-7"),
        ("us-ascii*en", "cp1252"),
    ],
)
def test_labels_that_mail_has_and_python_has_not(declared, codec):
    """Charset labels of old mail programs are known."""
    assert codec_name(declared) == codec


@over_rows(
    "text",
    [
        "Madame, «\u00a0À bientôt\u00a0», l’été a été très chaud\u00a0! Où êtes-vous\u00a0? \u00a0\u00a0\u00a0Hé",
        "«\u00a0État\u00a0» et «\u00a0À propos\u00a0»",
        "\u00a0\u00a0\u00a0\u00a0été réglé déjà préféré \u00a0\u00a0\u00a0 à côté élevé",
        "••• café ••• été, né ···",
        "———— naïve ———— café",
        "€€€ 5 € €",
        "¡¡¡OFERTA!!! ¿¿¿Qué???",
        "\u00a0–\u00a0Été\u00a0–\u00a0Hiver",
        "ÉÉÉ ÀÀÀ",
    ],
)
def test_spaces_and_marks_in_rows_do_not_make_a_latin_text_another(text):
    """Non-breaking spaces, as in French quotation marks, dashes and bullets point to no script."""
    raw = text.encode("cp1252")
    assert [decode(raw, declared)[0] for declared in ("", "us-ascii", "iso-8859-1", "windows-1252")] == [text] * 4


def test_what_is_too_little_to_tell_is_western():
    """A single non-ASCII letter is read in Windows-1252; pure ASCII text points to no charset."""
    assert likely_codec(b"caf\xe9") == "cp1252"
    assert likely_codec(b"plain") == ""


@pytest.mark.parametrize("start", [0, 1])
def test_a_broken_text_is_still_read(start):
    """Bytes lost at the ends of a text cost the characters at the ends."""
    broken = RUSSIAN.encode()[start:-2]
    assert "предлагаем" in words(decode(broken)[0], 24)
    assert {"错误", "安装"} <= set(words(decode(CHINESE.encode("gbk")[:-1], "gb2312")[0], 24))


def test_a_raw_field_is_in_the_charset_of_the_rest():
    """A short raw subject or name is in the charset that the message declares."""
    raw = b'Subject: \xb7\xa2\xc6\xb1\nFrom: "\xd5\xc5\xc8\xfd" <a@b.example>\n'
    claims = (
        b"Content-Type: text/plain; charset=gb2312\n\nx\n",
        b"X: =?gb2312?B?xOO6ww==?=\n\nx\n",
        b"Content-Type: text/html\n\n<meta http-equiv=content-type content='text/html; charset=gb2312'>x\n",
        b"\n" + INVOICE.encode("gbk"),
    )
    for claim in claims:
        assert {"subject:发票", "from-name:张三", "from:a@b.example"} <= read(raw + claim).tokens.keys()


@pytest.mark.parametrize("header", ["", "; charset=iso-8859-1", "; charset=x"])
def test_html_that_declares_its_own_charset_is_read_in_it(header):
    """A charset in the markup counts if the field names none."""
    raw = f"Content-Type: text/html{header}\n\n".encode() + '<meta charset="koi8-r"><p>да'.encode("koi8-r")
    assert "да" in read(raw).tokens


def test_a_field_that_declares_a_charset_overrides_the_markup():
    """A charset in the field that says something holds, whatever the markup says."""
    raw = "<meta charset=koi8-r><p>скидки".encode("cp1251")
    assert "скидки" in read(b"Content-Type: text/html; charset=windows-1251\n\n" + raw).tokens


@pytest.mark.parametrize("declared", ["gb2312", "koi8-r", "iso-8859-1"])
def test_utf8_overrides_the_markup(declared):
    """A program that recodes a page does not change its markup: a right UTF-8 in the field counts."""
    raw = f"Content-Type: text/html; charset=utf-8\n\n<meta charset={declared}><p>© größer".encode()
    message = parse(raw)
    assert message.texts[0].text.endswith("© größer")
    assert "charset-wrong:" not in message.notes


@pytest.mark.parametrize(
    ("raw", "declared", "text"),
    [
        ("größer".encode("utf-16-be"), "utf-16", "größer"),
        ("größer".encode("utf-16-le"), "utf-16", "größer"),
        (b"plain text", "utf-16", "plain text"),
        (b"plain text", "utf-32", "plain text"),
        ("größer".encode("utf-16"), "utf-8", "größer"),
        (b"see~{abcd", "", "see~{abcd"),
    ],
)
def test_unicode_that_is_not_what_it_is_called(raw, declared, text):
    """UTF-16 without its mark or called UTF-8 is read, and ASCII is ASCII whatever it is called."""
    assert decode(raw, declared)[0] == text


@pytest.mark.parametrize(("charset", "encode"), [("utf-16", "utf-16"), ("", "utf-16"), ("utf-8", "utf-8-sig")])
def test_every_unicode_is_one(charset, encode):
    """UTF-16 and a byte order mark make no difference."""
    raw = f"Subject: x\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n".encode()
    assert spoken(raw + base64.encodebytes((RUSSIAN + "\n").encode(encode))) == as_utf8("x", RUSSIAN)


def halves(text: str, codec: str, encoding: str) -> str:
    """Two encoded words that divide a character."""
    raw = text.encode(codec)
    cut = len(raw) // 2 | 1
    found = []
    for piece in (raw[:cut], raw[cut:]):
        if encoding == "b":
            found.append(base64.b64encode(piece).decode())
        else:
            found.append(quopri.encodestring(piece, header=True).decode().replace("=\n", "").replace("?", "=3F"))
    return "\n ".join(f"=?{codec}?{encoding}?{piece}?=" for piece in found)


@pytest.mark.parametrize("encoding", ["b", "q"])
@pytest.mark.parametrize(("text", "codec"), [("发票代理", "gb2312"), ("親愛的朋友", "big5"), ("привет", "utf-8")])
def test_a_character_split_between_two_encoded_words_is_whole(text, codec, encoding):
    """Neighbouring encoded words of one charset are joined before they are decoded."""
    assert decode_field(halves(text, codec, encoding)) == text


@over_rows(
    ("written", "read_as"),
    [
        ("=?gb2312?Q?=B7=A2 =C6=B1?=", "发 票"),
        ("=?GB2312?B?t6LGsQ?=", "发票"),
        ("=?gb2312?B?t6LG sQ==?=", "发票"),
        ("=?x-unknown?B?0L/RgNC40LLQtdGC?=", "привет"),
        ("=?iso-8859-1?B?0L/RgNC40LLQtdGC?=", "привет"),
        ("=?us-ascii*en?q?plain?=", "plain"),
        ("=?windows-1251 ?Q?=E4=E0?=", "да"),
        ("漢字 =?utf-8?q?=C3=A9?= 漢字", "漢字 é 漢字"),
        ("a =?utf-8?q?b?=c", "a bc"),
        ("\x1b$B4A;z\x1b(B", "漢字"),
    ],
)
def test_encoded_words_that_break_the_rules(written, read_as):
    """Encoded words with spaces, without padding, with a wrong charset or beside raw text are read."""
    surrogates = written.encode().decode("ascii", "surrogateescape")
    assert decode_field(surrogates) == read_as


@pytest.mark.parametrize(
    "name", ["=?utf-8?q?Doe=2C_John_=3Cx=40y=2Eexample=3E?=", '"=?utf-8?q?Doe=2C_John_=3Cx=40y=2Eexample=3E?="']
)
def test_an_encoded_name_is_one_name(name):
    """The text of an encoded word is part of the name, and never separates two addresses."""
    found = read(f"From: {name} <a@b.example>\n\nx".encode()).tokens
    assert {"from-name:doe", "from-name:john", "from:a@b.example", "from-name-is-another-address:"} <= found.keys()
    assert not {"from-number:2", "from:doe", "from:x@y.example"} & found.keys()


@pytest.mark.parametrize(
    "parameter",
    [
        "filename*=gb2312''%B7%A2%C6%B1.exe",
        'filename="=?gb2312?B?t6LGsS5leGU=?="',
        "filename*0*=utf-8''%E5%8F%91; filename*1*=%E7%A5%A8.exe",
        'filename="发票.exe"',
    ],
)
def test_file_names(parameter):
    """A file's name is read in RFC 2231's form, as an encoded word, and raw."""
    raw = f"Content-Type: application/x\nContent-Disposition: attachment; {parameter}\n\nx"
    assert {"attached-name:发票.exe", "attached-extension:exe"} <= read(raw.encode()).tokens.keys()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("हिन्दी में", {"हिन्दी": 1, "में": 1}),
        ("தமிழ்", {"தமிழ்": 1}),
        ("ดี มี", {"ดี": 1, "มี": 1}),
        ("안녕 하세요", {"안녕": 1, "하세요": 1}),
    ],
)
def test_vowels_that_are_marks_are_part_of_the_word(text, found):
    """Words of India's scripts are whole, and Thai pairs are pairs as written."""
    assert words(text, 24) == found


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Type: text/x-amp-html\n\n<style amp-boilerplate>body{visibility:hidden}</style><p>offer",
        b"Content-Type: text/enriched\n\n<bold>offer</bold><color><param>red</param></color>",
        b"Subject: x\n\n-----BEGIN PGP SIGNATURE-----\n"
        + b"iQEzBAEBCAAdFiEE/abc+defghijklmnopqrstuvwxyz0123456789ABCD\n-----END\noffer",
    ],
)
def test_markup_and_armour_are_no_words(raw):
    """AMP's and enriched markup, and the lines of an armoured signature, leave no words of their own."""
    found = read(raw).tokens
    assert "offer" in found
    assert not {"style", "boilerplate", "bold", "param", "red", "abc", "visibility"} & found.keys()


def test_a_digest_is_messages():
    """The parts of a digest are messages (RFC 2046, 5.1.5), as are the header fields of a returned one (RFC 6522)."""
    raw = b"Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: apples\nX-Odd: pears\n\nplums\n--b--\n"
    assert [text.text.split() for text in parse(raw).texts] == [["plums"]]
    assert "apples" in read(raw).tokens
    raw = b"Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: text/rfc822-headers\n\n"
    found = read(raw + b"Subject: apples\nX-Odd: pears\n--b--\n").tokens
    assert "apples" in found
    assert "pears" not in found


def test_identifiers_in_links_are_no_tokens():
    """A word of a link's path that is long and has digits is met once; others are tokens."""
    found = read(b"Subject: x\n\nhttp://shop.example/track/a8f3c91e77d0/2024/offer?u=1234567890\n").tokens
    assert {"url-path:track", "url-path:2024", "url-path:offer"} <= found.keys()
    assert not {"url-path:a8f3c91e77d0", "url-path:1234567890"} & found.keys()

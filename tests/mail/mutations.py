"""Realistic messages of ours, and what chance makes of them."""

import base64
import random

_HTML = """<html><head><title>News</title><style>p {color: red}</style></head><body bgcolor="#ffffff">
<!-- opening --><table width="100%"><tr><td style="display:none">preheader</td><td>Dear <b>fr</b>iend,<br>
<a href="http://user@www.shop.example:81/a/b?c=d">www.bank.example</a> <img src="cid:1" width="1" height="1" alt="x">
<font color="white">hidden words</font> caf&eacute; &#x4e2d; <form action="http://f.example/"><input></form>
</td></tr></table></body></html>
"""
_MIXED = (
    b"From sender@shop.example Mon Jan  1 00:00:00 2024\r\n"
    b"Received: from mx.shop.example (mx.shop.example [192.0.2.1])\r\n\tby mail.home.example; Mon, 1 Jan 2024\r\n"
    b'From: =?utf-8?q?Caf=C3=A9_Shop?= <sender@shop.example>\r\nTo: "B, A" <a@home.example>, c@d.example (C)\r\n'
    b"Reply-To: friends: other@else.example;\r\nSubject: =?iso-2022-jp?B?GyRCJDMbKEI=?= V I A G R A !!!\r\n"
    b"Message-ID: <1@shop.example>\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="outer"\r\n\r\npreamble\r\n--outer\r\n'
    b"Content-Type: multipart/alternative; boundary=inner\r\n\r\n--inner\r\n"
    b"Content-Type: text/plain; charset=utf-8; format=flowed\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"Dear fri=\r\nend, caf=C3=A9 =D0=BF=D1=80 www.shop.example \r\nflows on $99.95 NOWADAYS 100%\r\n--inner\r\n"
    b"Content-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    + base64.encodebytes(_HTML.encode())
    + b"--inner--\r\n--outer\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\nFrom: x@y.example\r\n\r\n"
    b"forwarded\r\nbegin 644 a.bin\r\n#86)C\r\n`\r\nend\r\n--outer\r\nContent-Type: application/pdf;\r\n"
    b" name*0*=utf-8''caf%C3%A9; name*1=.pdf\r\nContent-Disposition: attachment; filename=\"a b.pdf\"\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--outer--\r\nepilogue\r\n"
)
_PAGE = b"Subject: page\nFrom: a@b.example\nContent-Type: text/html; charset=utf-8\n\n" + _HTML.encode()
_ASIAN = (
    b"Subject: =?gb2312?B?xOO6ww==?=\nContent-Type: text/plain; charset=gb18030\nContent-Transfer-Encoding: 8bit\n\n"
    + "你好，世界 ｖіаgra\u200b é\u0301".encode("gb18030")
)
_SHIFTED = b"Subject: x\nContent-Type: text/plain; charset=%s\n\n" + "こんにちは text 中".encode("iso-2022-jp")
_INVITATION = (
    b"Subject: lunch\r\nContent-Type: text/calendar; charset=utf-8; method=REQUEST\r\n\r\nBEGIN:VCALENDAR\r\n"
    b'METHOD:REQUEST\r\nBEGIN:VEVENT\r\nORGANIZER;CN="A: B":mailto:a@shop.example\r\nSUMMARY;LANGUAGE=en:Lunch\r\n'
    b" at noon\\, caf\xc3\xa9\r\nDESCRIPTION:<p>See\\n<a href='http://shop.example/'>menu</a></p>\r\nLOCATION:Garden\r\n"
    b"BEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
_DRAWING = (
    b"Subject: drawing\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nsee the drawing\n--b\n"
    b'Content-Type: image/svg+xml; name=a.svg\n\n<?xml version="1.0"?><svg xmlns:xlink="x" onload="location=1">\n'
    b'<a xlink:href="https://shop.example/x">go</a><script><![CDATA[atob("eA==") + "https:\\/\\/b.example"]]>\n'
    b"</script></svg>\n--b\nContent-Type: text/html\nContent-Disposition: attachment; filename=a.html\n\n"
    b"<meta http-equiv=refresh content='0;url=//c.example/'><form action=d><input type=password></form>\n--b--\n"
)
MESSAGES = (
    _MIXED,
    _PAGE,
    _INVITATION,
    _DRAWING,
    _ASIAN,
    _SHIFTED % b"iso-2022-jp",
    _SHIFTED % b"utf-7",
    _SHIFTED % b"hz",
)

_CHARSETS = (b"utf-7", b"utf-16", b"hz", b"iso-2022-kr", b"zlib", b"idna", b"cp932", b"utf-8-sig", b"utf-32", b"mbcs")


def mutated(raw: bytes, chance: random.Random) -> bytes:
    """`raw` after one to eight small accidents."""
    for _ in range(chance.randint(1, 8)):
        start = chance.randrange(len(raw) + 1)
        end = min(len(raw), start + chance.choice((1, 1, 2, 8, 60, 600)))
        piece = raw[start:end]
        match chance.randrange(8):
            case 0:
                piece = bytes(byte ^ 1 << chance.randrange(8) for byte in piece)
            case 1:
                piece = b""
            case 2:
                piece *= 1 + chance.randint(1, 3)
            case 3:
                piece += chance.randbytes(chance.randint(1, 8))
            case 4:
                piece = raw[:start][-len(piece) :] if piece else raw[-50:]
            case 5:
                piece = piece.replace(b"utf-8", chance.choice(_CHARSETS)) + chance.choice(_CHARSETS)
            case 6:
                piece += chance.choice(
                    (b"\n", b"\n\n", b"\r", b"\0", b"=?", b"?=", b"--", b"<", b'"', b"&#xdfff;", b"*0*=")
                )
            case 7:
                return raw[:start] or b"\n"
        raw = raw[:start] + piece + raw[end:]
    return raw

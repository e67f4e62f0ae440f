"""The file of a form: found however the bytes arrive, and refused where the form is wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobox.errors import InvalidRequest
from mobox.server.files.multipart import FilePart, MultipartFile, boundary_of

BOUNDARY = b"----WebKitFormBoundary7MA4"
FILE = b'content-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain'
FIELD = b'Content-Disposition: form-data; name="note"'


def part(headers: bytes, content: bytes) -> bytes:
    blank = b"\r\n\r\n" if headers else b"\r\n"
    return b"--%b\r\n%b%b%b\r\n" % (BOUNDARY, headers, blank, content)


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--%b--\r\n" % BOUNDARY


def read(pieces: list[bytes]) -> tuple[FilePart | None, bytes]:
    body = MultipartFile(BOUNDARY)
    found = b"".join(map(body.feed, pieces))
    body.finish()
    return body.part, found


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


NASTY = st.lists(
    st.sampled_from([b"\r", b"\n", b"\r\n", b"--", b"\r\n--", BOUNDARY[:-1], b"x", b"\0"])
).map(b"".join)


@given(NASTY | st.binary(max_size=200), NASTY, st.lists(st.integers(0, 10_000)), st.booleans())
@example(b"", b"", [], True)
@example(b"\r\n--", b"\r\n", [1, 2, 3], False)
def test_any_split_gives_the_same_file(
    content: bytes, note: bytes, cuts: list[int], is_first: bool
) -> None:
    parts = [part(FILE, content), part(FIELD, note)]
    body = form(*(parts if is_first else reversed(parts)))
    assert read(split(body, cuts)) == (FilePart("a.txt", "text/plain"), content)


def test_a_form_is_read_byte_by_byte() -> None:
    body = b"preamble\r\n" + form(part(FIELD, b"1"), part(FILE, b"Hello\r\n")) + b"epilogue"
    assert read([bytes([byte]) for byte in body])[1] == b"Hello\r\n"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        (b'form-data; name=f; filename="a b.txt"', "a b.txt"),
        (b'form-data; name=f; filename=""', ""),
        (b'form-data; filename="a\\"b;c.txt"; name=f', 'a"b;c.txt'),
        (b'form-data; name=f; filename="Z\xc3\xbcrich.txt"', "Zürich.txt"),
        (b"form-data; name=f; filename*=UTF-8''Z%C3%BCrich.txt", "Zürich.txt"),
        (b"form-data; name=f; filename*=nonsense''a%FF", "a\xff"),
        (b'form-data; name=f; filename="\xff.txt"', "\ufffd.txt"),
        (b'form-data; name=f; filename="a\nx: y.txt"', "a x: y.txt"),
    ],
)
def test_the_name_is_read(disposition: bytes, name: str) -> None:
    headers = b"Content-Disposition: " + disposition
    assert read([form(part(headers, b"x"))]) == (FilePart(name, ""), b"x")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "ends before its last boundary"),
        (b"nothing of the kind", "ends before its last boundary"),
        (part(FILE, b"cut off"), "ends before its last boundary"),
        (form(part(FILE, b"x"))[:-4], "ends before its last boundary"),
        (form(part(FILE, b"x")).replace(BOUNDARY, b"another"), "ends before its last boundary"),
        (form(), "expected a part with a file name"),
        (
            form(part(FIELD, b"x"), part(b"", b"y"), part(b"no colon", b"z")),
            "a file name, got none",
        ),
        (form(part(FILE, b"1"), part(FILE, b"2")), "expected one file, got several"),
        (form(part(b"x: " + b"y" * 20_000, b"")), "headers of a part exceed"),
        (b"--%b junk\r\n" % BOUNDARY, "expected the end of a line after a boundary"),
        (b"--%b%b" % (BOUNDARY, b" " * 200), "expected the end of a line after a boundary"),
    ],
)
def test_a_wrong_form_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        read([body])
    with pytest.raises(InvalidRequest, match=problem):
        read([bytes([byte]) for byte in body])


def test_little_is_held_while_a_file_is_read() -> None:
    body = MultipartFile(BOUNDARY)
    body.feed(b"--%b\r\n%b\r\n\r\n" % (BOUNDARY, FILE))
    for _ in range(100):
        assert len(body.feed(b"x" * 10_000)) >= 10_000 - len(BOUNDARY) - 4
    assert len(body._held) < len(BOUNDARY) + 4


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/form-data; boundary=abc", b"abc"),
        ('Multipart/Form-Data; charset=utf-8; boundary="a b"', b"a b"),
    ],
)
def test_the_boundary_is_read(content_type: str, boundary: bytes) -> None:
    assert boundary_of(content_type) == boundary


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=ü",
        "multipart/form-data; boundary=" + "x" * 71,
    ],
)
def test_a_wrong_boundary_is_refused(content_type: str) -> None:
    with pytest.raises(InvalidRequest, match="boundary"):
        boundary_of(content_type)

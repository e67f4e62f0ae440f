"""Which pages of other origins may read what, as functions of request headers."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from mobox.server import cors
from mobox.server.cors import CorsPolicy
from mobox.settings import Settings, listed_origin, read_settings

THEIRS = "http://localhost:3000"
LISTED = frozenset({listed_origin(THEIRS)})
EMBEDDED = {"sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site"}


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("POST", {"origin": THEIRS}, [THEIRS]),
        ("POST", {}, []),
        ("GET", {"referer": f"{THEIRS}/a/b?c"}, []),
        ("GET", {**EMBEDDED, "referer": f"{THEIRS}/a/b?c"}, [THEIRS]),
        ("GET", {**EMBEDDED, "referer": THEIRS}, [THEIRS]),
        ("GET", {**EMBEDDED, "referer": "about:client"}, []),
        ("GET", {**EMBEDDED, "origin": "null", "referer": THEIRS}, ["null"]),
        ("POST", {**EMBEDDED, "referer": THEIRS}, []),
    ],
)
def test_origin_of_a_page_is_stated_or_that_of_its_referer(
    method: str, headers: dict[str, str], expected: list[str]
) -> None:
    assert cors.page_origins(Headers(headers), method) == expected


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        ([THEIRS], THEIRS),
        (["http://LOCALHOST:3000"], "http://LOCALHOST:3000"),
        ([], None),
        (["null"], None),
        (["http://localhost:3001"], None),
        (["https://localhost:3000"], None),
        ([THEIRS, THEIRS], None),
    ],
)
def test_listed_origin_is_repeated_as_it_was_written(
    origins: list[str], expected: str | None
) -> None:
    assert cors.listed(CorsPolicy(origins=LISTED), origins) == expected


def allowed_by(policy: CorsPolicy, **headers: str) -> str:
    answered = dict(cors.preflight_headers(policy, Headers(headers)))
    return answered[b"access-control-allow-headers"].decode()


def test_further_request_headers_are_added_to_the_usual_ones() -> None:
    usual = allowed_by(CorsPolicy(origins=LISTED))
    more = allowed_by(CorsPolicy(origins=LISTED, headers={"x-tenant"}))
    assert set(more.split(", ")) == {*usual.split(", "), "x-tenant"}
    assert {"authorization", "content-type", "idempotency-key"} <= set(usual.split(", "))


def test_wildcard_allows_the_headers_that_a_page_wants_to_send() -> None:
    policy = CorsPolicy(origins=LISTED, headers={"*"})
    wanted = {"access-control-request-headers": "x-one,x-two"}
    assert allowed_by(policy, **wanted) == "x-one,x-two"
    assert "*" not in allowed_by(policy)


def test_credentials_are_allowed_only_if_they_are_configured() -> None:
    assert b"access-control-allow-credentials" not in dict(
        cors.response_headers(CorsPolicy(origins=LISTED), THEIRS)
    )
    policy = CorsPolicy(origins=LISTED, credentials=True)
    answered = dict(cors.response_headers(policy, THEIRS))
    assert answered[b"access-control-allow-credentials"] == b"true"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [(b"vary", b"Origin")]),
        ([(b"vary", b"accept-encoding")], [(b"vary", b"accept-encoding, Origin")]),
        ([(b"vary", b"accept, origin")], [(b"vary", b"accept, origin")]),
        ([(b"vary", b"*")], [(b"vary", b"*")]),
        ([(b"vary", b"a"), (b"vary", b"b")], [(b"vary", b"a, b, Origin")]),
    ],
)
def test_caches_are_told_that_a_response_depends_on_the_origin(
    before: cors.RawHeaders, after: cors.RawHeaders
) -> None:
    assert cors.varying(before) == after


# Settings


def test_settings_are_read_from_variables() -> None:
    settings = read_settings(
        {
            "MOBOX_ALLOWED_HEADERS": "X-Tenant, x-custom-header",
            "MOBOX_ALLOW_CREDENTIALS": "yes",
            "MOBOX_FORWARDED_HEADERS": "X-User",
        },
        {},
    )
    assert settings.allowed_headers == ("x-tenant", "x-custom-header")
    assert settings.allow_credentials is True
    assert settings.forwarded_headers == ("x-user",)
    assert Settings().allow_credentials is False


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"MOBOX_ALLOWED_HEADERS": "x tenant"}, "not the name of a header"),
        ({"MOBOX_ALLOW_CREDENTIALS": "perhaps"}, "expected one of true, false"),
        ({"MOBOX_FORWARDED_HEADERS": "*"}, "is not possible here"),
        (
            {"MOBOX_ALLOWED_HEADERS": "*", "MOBOX_ALLOW_CREDENTIALS": "true"},
            "MOBOX_ALLOWED_HEADERS=.: with --allow-credentials list the headers by name",
        ),
    ],
)
def test_invalid_settings_are_refused(variables: dict[str, str], problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        read_settings(variables, {})

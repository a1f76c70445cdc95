"""The console is closed to everyone but the admin, and to forms of other sites."""

import asyncio
import re

import pytest
from tests.gateway.console.conftest import ORIGIN

from deeprotect.gateway.console.routes import ACTIONS, PAGES
from deeprotect.gateway.console.sessions import FAILURES_SECONDS as SECONDS
from deeprotect.gateway.console.sessions import MOST_FAILURES, Attempts
from deeprotect.gateway.serving import create_service
from deeprotect.gateway.wire import requests


@pytest.mark.parametrize("path", PAGES)
def test_who_is_not_signed_in_is_shown_the_way_in_and_nothing_more(stranger, path):
    answer = stranger.get(path)
    assert (answer.status_code, answer.headers["location"], answer.content) == (303, "/console/sign-in", b"")


@pytest.mark.parametrize("path", ACTIONS)
def test_a_form_of_who_is_not_signed_in_changes_nothing(stranger, gateway, path):
    before = gateway.registry.known()
    fields = {"stream": "watch", "name": "fit", "app": "fit", "minutes": "0"}
    answer = stranger.client.post(path, data=fields, headers={"Origin": ORIGIN})
    assert answer.status_code == 303
    assert gateway.registry.known() == before


@pytest.mark.parametrize("path", ACTIONS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
        {},
    ],
)
def test_a_form_that_comes_from_elsewhere_changes_nothing_even_with_cookie_and_token(admin, gateway, path, headers):
    token = re.search(r'name="token" value="([0-9a-f]+)"', admin.get("/").text)[1]
    before = gateway.registry.known()
    fields = {"token": token, "stream": "watch", "name": "fit", "app": "fit", "minutes": "0"}
    answer = admin.client.post(path, data=fields, headers=headers)
    assert answer.status_code == 403
    assert gateway.registry.known() == before
    assert admin.get("/").status_code == 200


@pytest.mark.parametrize("path", ACTIONS)
@pytest.mark.parametrize("token", [None, "", "0" * 64])
def test_a_form_without_its_token_changes_nothing(admin, gateway, path, token):
    before = gateway.registry.known()
    fields = {"stream": "watch", "name": "fit", "app": "fit"} | ({} if token is None else {"token": token})
    assert admin.client.post(path, data=fields, headers={"Origin": ORIGIN}).status_code == 403
    assert gateway.registry.known() == before


def test_the_sign_in_form_needs_its_own_token(stranger):
    fields = {"admin": stranger.token}
    assert stranger.client.post("/console/sign-in", data=fields, headers={"Origin": ORIGIN}).status_code == 403
    assert stranger.get("/").status_code == 303


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "a b", "[::1"])
@pytest.mark.parametrize("path", ["/", "/console/sign-in", "/console/static/console.css", "/phone/x"])
def test_a_name_that_somebody_pointed_at_this_machine_is_not_answered(admin, path, host):
    answer = admin.get(path, host=host)
    assert answer.status_code == 421
    assert "stream" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:1", "[::1]:8765", "192.168.1.5"])
def test_addresses_cannot_be_pointed_elsewhere_and_are_answered(stranger, host):
    assert stranger.get("/console/sign-in", host=host).status_code == 200


def test_headers_keep_pages_to_themselves(admin):
    for path in ("/", "/console/register", "/console/policies", "/console/sign-in", "/phone/none"):
        headers = admin.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] in ("same-origin", "no-referrer")


def test_cookies_are_for_this_site_and_no_script(stranger):
    for cookie in (stranger.get("/console/sign-in").headers["set-cookie"], stranger.sign_in().headers["set-cookie"]):
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Secure" not in cookie  # this is http


def test_under_tls_cookies_are_secure_and_of_this_host_alone(gateway, stranger):
    stranger.client.base_url = "https://127.0.0.1:8765"
    cookie = stranger.get("/console/sign-in").headers["set-cookie"]
    assert cookie.startswith("__Host-deeprotect-form=")
    assert "Secure" in cookie


def test_a_session_ends_with_sign_out_also_for_who_kept_the_cookie(admin):
    kept = dict(admin.client.cookies)
    assert admin.post("/console/sign-out").status_code == 303
    admin.client.cookies.update(kept)
    assert admin.get("/").status_code == 303


def test_a_new_admin_ends_the_sessions_of_the_one_before(admin, gateway):
    assert admin.get("/").status_code == 200
    gateway.registry.new_admin()
    assert admin.get("/").status_code == 303


def test_tokens_of_devices_and_apps_open_no_page(stranger, gateway):
    gateway.registry.add_device("phone")
    for token in (gateway.registry.add_device("other"), gateway.registry.add_app("a", stream="phone", bundle="walk")):
        answer = stranger.sign_in(token)
        assert answer.status_code == 403
        assert token not in answer.text


def test_who_is_wrong_too_often_waits_even_with_the_right_token(stranger):
    for _ in range(MOST_FAILURES):
        assert stranger.sign_in("wrong").status_code == 403
    answer = stranger.sign_in()
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= SECONDS


def test_attempts_are_forgotten_after_a_while_and_counted_for_each_client():
    now = [0.0]
    attempts = Attempts(now=lambda: now[0])
    for _ in range(MOST_FAILURES):
        attempts.failed("a")
    assert attempts.wait("a") == SECONDS
    assert attempts.wait("b") == 0
    now[0] = SECONDS
    assert attempts.wait("a") == 0


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"token=" + b"x" * 100_000, "application/x-www-form-urlencoded", 413),
        (b"\xff\xfe=1", "application/x-www-form-urlencoded", 422),
        (b"&".join(b"a%d=1" % n for n in range(200)), "application/x-www-form-urlencoded", 422),
        (b"{}", "application/json", 415),
    ],
)
def test_forms_that_are_none_are_refused_in_one_line(admin, body, kind, status):
    headers = {"Origin": ORIGIN, "Content-Type": kind}
    assert admin.client.post("/console/devices", content=body, headers=headers).status_code == status


def test_static_files_are_those_in_the_list(admin):
    assert admin.get("/console/static/console.css").status_code == 200
    for name in ("../routes.py", "..%2froutes.py", "routes.py", "base.html"):
        assert admin.get(f"/console/static/{name}").status_code == 404


FORM = [
    (b"host", b"127.0.0.1"),
    (b"origin", b"http://127.0.0.1"),
    (b"content-type", b"application/x-www-form-urlencoded"),
]
HALF = {"type": "http.request", "body": b"admin=", "more_body": True}


def answered(gateway, receive):
    """What the service says to a sign-in form whose body comes from `receive`."""
    scope = {"type": "http", "method": "POST", "path": "/console/sign-in", "headers": FORM, "query_string": b""}
    scope |= {"scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765)}
    sent = []

    async def send(message):
        sent.append(message)

    async def ask():
        async with asyncio.timeout(20):
            await create_service(gateway)(scope, receive, send)

    asyncio.run(ask())
    return sent[0]


def test_a_form_that_does_not_come_to_its_end_is_not_awaited_for_ever(gateway, monkeypatch):
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.3)
    parts = iter([HALF, HALF])

    async def stalls():
        await asyncio.sleep(0.1)
        return next(parts, None) or await asyncio.Event().wait()

    answer = answered(gateway, stalls)
    assert answer["status"] == 408
    assert (b"connection", b"close") in answer["headers"]


def test_a_client_that_leaves_in_the_middle_of_a_form_leaves_no_line_in_the_log(gateway, capfd):
    parts = iter([HALF, {"type": "http.disconnect"}])

    async def leaves():
        return next(parts)

    assert answered(gateway, leaves)["status"] == 408
    assert capfd.readouterr().err == ""

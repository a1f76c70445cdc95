"""What the pages say, whatever things are called."""

import re
from dataclasses import replace
from urllib.parse import quote

import pytest
from markupsafe import escape
from tests.gateway.conftest import message
from tests.gateway.console.conftest import HOSTILE

from deeprotect.bundle.card import card_of
from deeprotect.gateway.console import pages
from deeprotect.gateway.registration.directory import Directory

QUERY = f"stream={quote(HOSTILE)}&app={quote(HOSTILE)}"
PERSON = f"/console/person?person={quote(HOSTILE)}"
PLACES = ["/", f"/console/stream?{QUERY}", PERSON, "/console/register", "/console/policies", "/console/events"]


@pytest.mark.parametrize("path", PLACES)
def test_names_that_try_to_be_markup_are_text(admin, path):
    text = admin.get(path).text
    assert "<script>alert" not in text
    assert "1337" not in re.sub(r"[0-9a-f]{12,}|\d\.\d+", "", text)  # a template of a template
    assert str(escape(HOSTILE)) in text or path in ("/console/policies", "/console/register")


@pytest.mark.parametrize("path", PLACES)
def test_pages_take_nothing_from_outside_and_hold_no_script_or_style_of_their_own(admin, path):
    text = admin.get(path).text
    assert not re.findall(r"<script(?! src=\"/console/static/)", text)
    assert not re.findall(r" style=| on[a-z]+=\"|<style|javascript:", text)
    for address in re.findall(r"(?:src|href|action)=\"([^\"]*)\"", text):
        assert address.startswith(("/", "#"))


@pytest.mark.parametrize("path", PLACES)
def test_every_field_has_a_label(admin, path):
    text = admin.get(path).text
    for field in re.findall(r"<(?:input|select)[^>]*>", text):
        if 'type="hidden"' in field or 'type="radio"' in field:
            continue
        name = re.search(r'id="([^"]+)"', field)[1]
        assert f'for="{name}"' in text or "aria-label" in field


def test_a_mistake_in_a_form_is_told_beside_it_with_what_was_typed(admin, gateway):
    answer = admin.post("/console/devices", stream=HOSTILE, person="x")
    assert answer.status_code == 422
    assert "has a device" in answer.text
    assert "<script>alert" not in answer.text
    answer = admin.post("/console/apps", name="new", stream="watch", bundle="none", push="https://x/y")
    assert answer.status_code == 422
    assert "no bundle &#39;none&#39; here; it serves: walk" in answer.text
    assert 'value="new"' in answer.text


def test_a_device_is_registered_and_its_address_is_shown_once(admin, gateway):
    answer = admin.post("/console/devices", stream="phone", person="bob", platform="ios", standardised="on")
    token = re.search(r"http://127.0.0.1:8765/in/([\w.-]{40,})", answer.text)[1]
    found = Directory(gateway.registry).device_of(token)
    assert (found.stream, found.person) == ("phone", "bob")
    assert found.sensors == {"platform": "ios", "standardised": True}
    assert f"/phone/{token}" in answer.text
    for path in ("/", "/console/stream?stream=phone", "/console/events"):
        assert token not in admin.get(path).text


def test_an_app_is_registered_and_its_token_is_shown_once(admin, gateway):
    answer = admin.post("/console/apps", name="new", stream="watch", bundle="walk", push="")
    token = re.search(r"Bearer ([\w.-]{40,})", answer.text)[1]
    assert Directory(gateway.registry).app_of(token).name == "new"
    assert token not in admin.get("/console/register").text


def test_revoking_takes_effect(admin, gateway):
    assert admin.post("/console/revoke", stream="watch", app="fit").status_code == 303
    assert [app.name for app in Directory(gateway.registry).apps()] == [HOSTILE]
    assert admin.post("/console/revoke", stream=HOSTILE).status_code == 303
    assert [device.stream for device in Directory(gateway.registry).devices()] == ["watch"]
    answer = admin.post("/console/revoke", stream=HOSTILE)
    assert answer.status_code == 422
    assert "no stream" in answer.text


def test_the_policy_is_told_in_the_words_of_the_card(admin, gateway):
    text, card = admin.get("/console/policy?bundle=walk").text, card_of(gateway.bundles.get("walk"))
    for sentence in (*card.opening, *(line.strip() for section in card.sections for line in section.lines)):
        assert str(escape(sentence)) in text


def test_a_policy_and_a_persons_own_page_say_in_the_cards_order_what_is_read_and_what_is_promised(
    admin, gateway, monkeypatch
):
    card = replace(card_of(gateway.bundles.get("walk")), reads="An unchanged app reads “mode” correctly")
    monkeypatch.setattr(pages, "card_of", lambda _: card)
    for address in ("/console/policy?bundle=walk", f"/me/{gateway.registry.new_link('person', HOSTILE)}"):
        text = admin.get(address).text
        places = [text.index(str(escape(each))) for each in (card.reads, card.beyond, card.opening.promised)]
        assert places == sorted(places)


def test_what_is_not_there_is_one_line(admin):
    for path in (
        "/console/policy?bundle=none",
        "/console/stream?stream=none",
        "/console/person?person=none",
        "/phone/none",
        "/me/none",
    ):
        answer = admin.get(path)
        assert answer.status_code in (404, 422)
        assert "Traceback" not in answer.text
        assert 'role="alert"' in answer.text


def test_what_two_apps_of_one_person_got_is_added_up(admin, gateway):
    """Composition: both are charged to the one person who owns both streams."""

    async def send():
        for stream in ("watch", HOSTILE):
            device = gateway.directory.device(stream)
            gateway.mediator.subscribe(gateway.directory.apps_of(stream)[0])  # somebody who gets it
            await gateway.mediator.receive(device, message(0, 60))

    admin.client.portal.call(send)
    text = admin.get("/").text
    spent = [float(each) for each in re.findall(r'data-live="p0\.a\d">([\d.]+)<', text)]
    whole = float(re.search(r'data-live="p0\.spent\.2">([\d.]+)<', text)[1])
    assert len(spent) == 2
    assert min(spent) > 0
    assert sum(spent) == whole
    assert "the sum is a bound (ldp)" in text
    assert re.search(r"\d+ (?:h|min)(?: \d+ \w+)? at this rate|of streaming|lasts", text)


def test_raw_samples_can_be_switched_on_from_this_machine_only(from_elsewhere):
    page = "/console/stream?stream=watch"
    assert "only in a browser on the gateway’s own machine" in from_elsewhere.get(page).text
    token = re.search(r'name="token" value="([0-9a-f]+)"', from_elsewhere.get("/").text)[1]
    fields = {"token": token, "stream": "watch", "app": "fit", "show": "on"}
    headers = {"Origin": "http://192.168.1.5:8765"}
    assert from_elsewhere.client.post("/console/raw", data=fields, headers=headers).status_code == 403


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_behind_a_proxy_nobody_is_on_this_machine(admin, header):
    answer = admin.post("/console/raw", headers={header: "127.0.0.1"}, stream="watch", app="fit", show="on")
    assert answer.status_code == 403


def test_on_this_machine_raw_samples_go_on_and_off(admin):
    page = "/console/stream?stream=watch&app=fit"
    assert "Show raw samples" in admin.get(page).text
    assert admin.post("/console/raw", stream="watch", app="fit", show="on").headers["location"] == page
    assert "Hide raw samples" in admin.get(page).text
    admin.post("/console/raw", stream="watch", app="fit", show="off")
    assert "Show raw samples" in admin.get(page).text


def test_a_phones_page_is_for_who_has_its_address(stranger, gateway):
    token = gateway.registry.add_device("phone", person="bob")
    answer = stranger.get(f"/phone/{token}")
    assert answer.status_code == 200
    assert "accelerometer=(self)" in answer.headers["permissions-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "bob" not in answer.text
    assert token not in answer.text
    gateway.registry.revoke_device("phone")
    assert stranger.get(f"/phone/{token}").status_code == 404


def test_a_bundle_that_was_changed_on_disk_is_said_to_wait_for_a_restart(admin, gateway, monkeypatch):
    assert "changed on disk" not in admin.get("/console/policies").text
    monkeypatch.setattr(gateway.bundles, "replaced", lambda: {"walk"})
    assert "changed on disk" in admin.get("/console/policies").text

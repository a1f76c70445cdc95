"""The page of the person whose data it is: what it tells, and that a pause and a stop hold from that moment on."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from markupsafe import escape
from tests.gateway.conftest import message
from tests.gateway.console.conftest import HOSTILE, ORIGIN

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration import device_registry, events
from deeprotect.gateway.registration.addresses import GatewayPlace
from deeprotect.release.ledger.statement import statement


@pytest.fixture
def link(gateway):
    """To the page of the one person, who has two streams."""
    return f"/me/{gateway.registry.new_link('person', HOSTILE)}"


@pytest.fixture
def send(stranger, gateway):
    """So many readings of the stream `watch`; how many draws the person has paid for then."""
    sent, every = [0], gateway.directory.apps()

    async def read():
        return [gateway.mediator.subscribe(app) for app in every]  # somebody is there to get it

    stranger.reading = stranger.client.portal.call(read)

    def run(count=40, stream="watch"):
        async def receive():
            await gateway.mediator.receive(gateway.directory.device(stream), message(sent[0], count))

        stranger.client.portal.call(receive)
        sent[0] += count
        return sum(person.draws for person in statement(gateway.database).people)

    return run


def decide(stranger, link, what, **fields):
    return stranger.client.post(link, data={"do": what} | fields, headers={"Origin": ORIGIN})


def test_it_tells_which_app_may_infer_what_what_left_and_how_long_the_budget_lasts(stranger, link, send):
    draws = send()
    text = stranger.get(link).text
    assert draws > 0
    assert 'May infer: <span class="tag">activity</span>' in text
    assert f'<b class="figures">{draws}</b> draws about you in the last 24 hours (ε = {5 * draws})' in text
    assert re.search(r"\d+ s at this rate", text)
    assert str(escape(HOSTILE)) in text
    assert "<script" not in text


def test_it_needs_no_sign_in_and_opens_no_other_page(stranger, link):
    assert stranger.get(link).status_code == 200
    assert stranger.get("/").status_code == 303
    assert stranger.sign_in(link.removeprefix("/me/")).status_code == 403


def test_an_address_that_was_revoked_or_guessed_shows_and_does_nothing(stranger, gateway, link, send):
    gateway.registry.revoke_link("person", HOSTILE)
    for address in (link, "/me/guessed", "/me/"):
        assert stranger.get(address).status_code == 404
        assert decide(stranger, address, "stop").status_code in (404, 405)
    assert send() > 0


def test_from_the_moment_of_a_stop_nothing_is_drawn_for_any_app(stranger, gateway, link, send):
    before = send()
    assert decide(stranger, link, "stop").status_code == 303
    assert send() == send(stream=HOSTILE) == before
    assert "Nothing leaves any more" in stranger.get(link).text


def test_windows_that_waited_to_be_released_when_it_was_stopped_are_not(stranger, gateway, link, send):
    """The stop comes between the order and the draw."""
    release, before = gateway.mediator._releaser.run, send()

    async def stop_then_release(queue):
        gateway.registry.halt(HOSTILE, stop=True)
        gateway.directory.refresh()
        await type(gateway.mediator)._release(gateway.mediator, queue)

    gateway.mediator._release = stop_then_release
    assert send() == before
    assert gateway.mediator._releaser.run == release


def test_windows_that_a_slow_reader_has_not_fetched_when_it_is_stopped_stay_inside(stranger, gateway, link, send):
    assert send() > 0

    async def fetched(subscription):
        subscription.close()
        return [window async for window in subscription]

    own = [each for each in stranger.reading if each._topic[1] == "watch"]
    assert len(own[0]._waiting) > 0
    decide(stranger, link, "stop")
    assert stranger.client.portal.call(fetched, own[0]) == []


def test_a_stop_outlives_a_restart_and_holds_in_every_gateway(stranger, gateway, link):
    decide(stranger, link, "stop")
    for place in (GatewayPlace(), GatewayPlace(1, 2)):
        again = Gateway(replace(gateway.settings, place=place))
        assert again.directory.apps_of("watch") == ()
        assert again.directory.apps_of(HOSTILE) == ()


def test_a_stop_can_be_undone_by_the_operator_alone_who_is_named_for_it(admin, gateway, link, send):
    decide(admin, link, "stop")
    decide(admin, link, "continue")
    decide(admin, link, "pause", **{"for": "1 hour"})
    assert send() == 0
    assert admin.post("/console/resume", person=HOSTILE).status_code == 303
    assert send() > 0
    told = [each.what for each in events.read(gateway.database, most=2)]
    assert told == ["resumed by the operator", "stopped by the person"]


def test_a_pause_ends_when_the_person_continues(stranger, gateway, link, send):
    decide(stranger, link, "pause", **{"for": "until I continue"})
    assert send() == 0
    assert "until you continue" in stranger.get(link).text
    decide(stranger, link, "continue")
    assert send() > 0


def test_a_pause_ends_after_its_time(stranger, gateway, link, send, monkeypatch):
    decide(stranger, link, "pause", **{"for": "1 hour"})
    assert send() == 0
    assert re.search(r"for (1 h|59 min \d+ s) more", stranger.get(link).text)
    holds = device_registry.Halt.holds
    monkeypatch.setattr(device_registry.Halt, "holds", lambda halt, now: holds(halt, now + timedelta(hours=1)))
    assert send() > 0


def test_others_are_not_halted_with_them(stranger, gateway, link):
    gateway.registry.add_device("other", person="bob")
    gateway.registry.add_app("fit", stream="other", bundle="walk")
    decide(stranger, link, "stop")
    assert len(gateway.directory.apps_of("other")) == 1


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {}])
def test_a_form_of_another_site_stops_nothing(stranger, gateway, link, headers):
    assert stranger.client.post(link, data={"do": "stop"}, headers=headers).status_code == 403
    assert gateway.registry.known().halts == {}


@pytest.mark.parametrize("fields", [{"do": "erase"}, {"x": ""}, {"do": "pause"}, {"do": "pause", "for": "ever"}])
def test_a_form_that_is_none_changes_nothing(stranger, gateway, link, fields):
    assert stranger.client.post(link, data=fields, headers={"Origin": ORIGIN}).status_code == 422
    assert gateway.registry.known().halts == {}


def test_a_device_that_sends_while_its_person_has_stopped_is_taken_in_and_nothing_of_it_is_kept(
    stranger, gateway, link
):
    decide(stranger, link, "stop")

    async def receive():
        return await gateway.mediator.receive(gateway.directory.device("watch"), message(0, 40))

    receipt = stranger.client.portal.call(receive)
    assert (receipt.text, receipt.waits) == ("", "its person, who has paused or stopped it")
    assert statement(gateway.database).people == ()


def test_the_operator_makes_the_address_and_sets_limits(admin, gateway, send):
    send()
    answer = admin.post("/console/link", person=HOSTILE)
    link = re.search(r"/me/[\w-]{40,}", answer.text)[0]
    assert admin.get(link).status_code == 200
    assert admin.post("/console/limits", person=HOSTILE, per_hour="", per_day="40", in_all="12.5").status_code == 303
    person = statement(gateway.database).people[0]
    assert {limit.name: float(limit.epsilon) for limit in person.limits} == {"per_day": 40.0, "in_all": 12.5}
    assert "of ε = 12.5" in admin.get(link).text
    assert admin.post("/console/revoke-link", person=HOSTILE).status_code == 303
    assert admin.get(link).status_code == 404


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "much", "1e999"])
def test_a_limit_that_is_none_is_told_and_changes_nothing(admin, gateway, limit):
    answer = admin.post("/console/limits", person=HOSTILE, per_day=limit)
    assert answer.status_code == 422
    assert "a limit is a number above 0" in answer.text
    assert statement(gateway.database).people == ()

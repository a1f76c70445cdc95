"""Pages: the admin's (overview, stream, person, policies, events, forms), a phone's, and a person's own."""

import asyncio
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from deeprotect.bundle.card import card_of
from deeprotect.errors import PolicyError
from deeprotect.exporting.protector_file import places_of
from deeprotect.gateway.console.guard import Admin, Desk, Form, TheDesk, form
from deeprotect.gateway.console.live_page import app_of
from deeprotect.gateway.console.overview import Search, look, overview, people
from deeprotect.gateway.console.rendering import MOTION, ago, lasting, page
from deeprotect.gateway.console.sessions import AdminSession
from deeprotect.gateway.registration import events
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.session import State
from deeprotect.gateway.wire.requests import is_local
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.limits import up
from deeprotect.release.ledger.statement import Person, Spent, statement
from deeprotect.signals import Schema

EVENTS = 50  # on one page
PAUSES = {"1 hour": timedelta(hours=1), "8 hours": timedelta(hours=8), "until I continue": None}


async def overview_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    found = await overview(desk, Search.of(request))
    return page(request, "overview.html", session=session, found=found, clock=desk.gateway.clock.trouble)


async def stream_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    """Released samples, live; raw ones beside them if the admin switched them on, on this machine."""
    app, stream = app_of(desk, request), request.query_params.get("stream", "")
    found = await look(desk, [stream], await desk.gateway.states())
    bundle = None if app is None else desk.bundle_of(app)
    local = is_local(request)
    return page(
        request,
        "stream.html",
        session=session,
        found=found,
        stream=found.streams[0],
        app_place=None if app is None else [each.name for each in found.streams[0].apps].index(app.name),
        channels=[] if bundle is None else [(each.name, each.unit) for each in bundle.schema.channels],
        local=local,
        raw=session.shows_raw and local,
        seconds=20 if bundle is None else max(20.0, 3 * bundle.schema.window / bundle.schema.rate_hz),
    )


async def person_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    """A person's budget and limits, whether they have a page of their own, and whether they have paused or stopped."""
    return await about_person(request, desk, session, request.query_params.get("person", ""))


async def about_person(
    request: Request, desk: Desk, session: AdminSession, name: str, *, status: int = 200, mistake: str | None = None
) -> Response:
    directory = desk.gateway.directory
    streams = directory.streams_of(name)
    if not streams:
        raise HTTPException(404, "no person of that name has a stream here")
    found = await look(desk, streams, await desk.gateway.states())
    linked = await asyncio.to_thread(desk.gateway.registry.has_link, "person", name)
    return page(
        request,
        "person.html",
        status=status,
        session=session,
        person=found.people[0],
        streams=found.streams,
        halt=directory.halt_of(name),
        linked=linked,
        mistake=mistake,
    )


def policy_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    """The card of a bundle, with the text of `describe`."""
    name = request.query_params.get("bundle", "")
    return page(request, "policy.html", session=session, name=name, card=card_of(desk.gateway.bundles.get(name)))


def policies_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    """The served bundles, each with the first sentence of its card."""
    bundles = desk.gateway.bundles
    cards = [(name, card_of(bundles.get(name))) for name in bundles.names()]
    return page(request, "policies.html", session=session, cards=cards, replaced=bundles.replaced())


def events_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    """Events, newest first."""
    search = Search.of(request)
    skip = (search.page - 1) * EVENTS
    found = events.read(desk.gateway.database, most=EVENTS + 1, skip=skip, about=search.text)
    shown, more = found[:EVENTS], len(found) > EVENTS
    return page(request, "events.html", session=session, events=shown, more=more, search=search, now=utc_now())


def register_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    return registering(request, desk, session, typed={"stream": request.query_params.get("stream", "")})


def registering(request: Request, desk: Desk, session: AdminSession, *, status: int = 200, **shown: Any) -> Response:
    """The two forms, with the typed values and the error."""
    given = {"mistake": None, "which": "app", "bundles": desk.gateway.bundles.names()} | shown
    return page(request, "register.html", status=status, session=session, **given)


async def phone_page(request: Request, desk: TheDesk, token: str) -> Response:
    """A page for the holder of the device's token; it shows only what is measured, and where it is sent."""
    await desk.gateway.refresh()
    device = desk.gateway.directory.device_of(token)
    if device is None:
        raise HTTPException(404, "there is no such device; its address may have been revoked")
    schema = desk.gateway.bundles.channels()
    places = motion_channels(schema)
    response = page(request, "phone.html", device=device, places=places, rate_hz=schema.rate_hz)
    response.headers["Permissions-Policy"] = MOTION
    response.headers["Referrer-Policy"] = "no-referrer"  # the address is a secret
    return response


def motion_channels(schema: Schema) -> list[dict[str, Any]]:
    """Channels that a browser can measure, with their places; other senders provide the rest."""
    found = []
    for channel in schema.channels:
        try:
            (place,) = places_of([channel])
        except PolicyError:
            continue
        found.append({"name": channel.name, "unit": channel.unit} | place.to_json())
    return found


def person_of(desk: TheDesk, token: str) -> str:
    """The person whose page it is; the address is the secret."""
    name = desk.gateway.registry.linked("person", token)
    if name is None:
        raise HTTPException(404, "there is no such page; its address may have been revoked")
    return name


Owner = Annotated[str, Depends(person_of)]


async def decide(desk: TheDesk, token: str, person: Owner, fields: Annotated[Form, Depends(form)]) -> Response:
    """Pause, continue or stop, at once, in every process, and lasting beyond a restart."""
    registry, length = desk.gateway.registry, fields.get("for", "")
    match fields.get("do"):
        case "pause" if length in PAUSES:
            span = PAUSES[length]
            until = None if span is None else utc_now() + span
            await desk.change(lambda: registry.halt(person, stop=False, until=until))
        case "stop":
            await desk.change(lambda: registry.halt(person, stop=True))
        case "continue":
            await desk.change(lambda: registry.resume(person))
        case _:
            raise HTTPException(422, "pause, continue or stop; go back and choose one")
    return RedirectResponse(f"/me/{token}", 303)


async def heard_of(desk: TheDesk) -> dict[str, State]:
    return await desk.gateway.states()


def own_page(
    request: Request, desk: TheDesk, person: Owner, heard: Annotated[dict[str, State], Depends(heard_of)]
) -> Response:
    """A person's own page: what each app may infer, releases, remaining budget; pause and stop."""
    directory = desk.gateway.directory
    (view,) = people(desk, [person], heard)
    found = next(iter(statement(desk.gateway.database, people=[person]).people), None)
    streams = directory.streams_of(person)
    apps = [_app(desk, app, found) for stream in streams for app in directory.registered(stream)]
    halt = directory.halt_of(person)
    live = any(heard.get(stream) in ("live", "refused") for stream in streams)
    return page(
        request,
        "me.html",
        person=view,
        apps=apps,
        halt=halt,
        left="" if halt is None or halt.until is None else lasting(halt.until - utc_now()),
        live=live,
        pauses=list(PAUSES),
        at=f"{utc_now():%Y-%m-%d %H:%M} UTC",
    )


def _app(desk: Desk, app: App, found: Person | None) -> dict[str, Any]:
    """What one app may infer about a person, and what it received."""
    bundle = desk.bundle_of(app)
    card = None if bundle is None else card_of(bundle)
    lines = [line for line in found.lines if (line.stream, line.app) == (app.stream, app.name)] if found else []
    day = sum((line.spent["per_day"] for line in lines), Spent())
    return {
        "name": app.name,
        "stream": app.stream,
        "infers": () if bundle is None else tuple(bundle.policy.inferences.useful),
        "reads": "" if card is None else card.reads,
        "beyond": "" if card is None else card.beyond,
        "promise": "" if card is None else card.opening.promised,
        "draws": day.draws,
        "epsilon": up(day.epsilon),
        "last": ago(max(line.last for line in lines), utc_now()) if lines else "",
    }

"""Pages that the admin reads: the overview, a stream, a policy in plain words, and the form to register."""

from typing import Any

from fastapi import Request, Response

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card import card_of
from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console import rendering
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.live_page import app_of
from deeprotect.gateway.console.overview import overview
from deeprotect.gateway.console.requests import RequestRefusedError
from deeprotect.gateway.console.sessions import Session
from deeprotect.gateway.mediation.onlookers import statuses
from deeprotect.gateway.wire.hosts import is_local


async def overview_page(desk: Desk, request: Request, session: Session) -> Response:
    status = await statuses(desk.gateway)
    found = await desk.apart(lambda: overview(desk, status))
    return rendering.page("overview.html", **frame(desk, session, "overview"), found=found)


async def stream_page(desk: Desk, request: Request, session: Session) -> Response:
    """Released samples as they leave; raw ones beside them where the owner wants that, on this machine."""
    app = await desk.apart(lambda: app_of(desk, request))
    if app is None:
        raise RequestRefusedError(404, "name a stream; the overview links to each")
    status = await statuses(desk.gateway)
    found = await desk.apart(lambda: overview(desk, status))
    place = next((i for i, each in enumerate(found.streams) if each.name == app.stream), None)
    if place is None:
        raise RequestRefusedError(404, "there is no such stream; it may have been revoked")
    bundle = await desk.apart(lambda: desk.bundle_of(app))
    channels = [] if bundle is None else [(each.name, each.unit) for each in bundle.schema.channels]
    watched = await desk.apart(lambda: _watched(desk, bundle))
    local = is_local(request) and desk.gateway.place.count == 1
    return rendering.page(
        "stream.html",
        **frame(desk, session, "overview"),
        found=found,
        place=place,
        app_place=next(j for j, each in enumerate(found.streams[place].apps) if each.name == app.name),
        app=app,
        channels=channels,
        local=local,
        raw=session.shows_raw and local,
        seconds=20 if bundle is None else max(20.0, 3 * bundle.schema.window / bundle.schema.rate_hz),
        **watched,
    )


def _watched(desk: Desk, bundle: Bundle | None) -> dict[str, Any]:
    """The observers, or why there are none."""
    empty = {"watching": None, "watch_trouble": None, "watch_table": desk.observers.table}
    if bundle is None:
        return empty
    try:
        return empty | {"watching": desk.observers.of(bundle)}
    except DeeprotectError as error:
        return empty | {"watch_trouble": str(error)}


async def policy_page(desk: Desk, request: Request, session: Session) -> Response:
    """The card of a bundle, or of what an app is given of it: the same words as `describe` prints."""
    app = await desk.apart(lambda: app_of(desk, request))
    name = request.query_params.get("bundle", "") if app is None else app.bundle
    bundle = await desk.apart(lambda: desk.gateway.bundles.get(name))
    given = None if app is None else await desk.apart(lambda: desk.bundle_of(app))
    card = card_of(given or bundle)
    return rendering.page("policy.html", **frame(desk, session, "policy"), name=name, card=card, app=app)


async def policies_page(desk: Desk, request: Request, session: Session) -> Response:
    """What is served, each with the sentence that opens its card."""
    bundles = desk.gateway.bundles
    cards, replaced = await desk.apart(
        lambda: ([(name, card_of(bundles.get(name))) for name in bundles.names()], bundles.replaced())
    )
    return rendering.page("policies.html", **frame(desk, session, "policy"), cards=cards, replaced=replaced)


async def register_page(desk: Desk, request: Request, session: Session) -> Response:
    return await registering(desk, session)


async def registering(desk: Desk, session: Session, *, status: int = 200, **shown: Any) -> Response:
    """The two forms, with what was typed and what is wrong with it."""
    registry = desk.gateway.registry
    devices, apps = await desk.apart(lambda: (registry.devices(), registry.apps()))
    given = {"mistake": None, "which": None, "typed": {}} | shown
    return rendering.page(
        "register.html",
        status=status,
        **frame(desk, session, "register"),
        devices=devices,
        apps=apps,
        bundles=desk.gateway.bundles.names(),
        **given,
    )


def frame(desk: Desk, session: Session, section: str) -> dict[str, Any]:
    """What stands around every page."""
    return {"token": session.form_token, "section": section}

"""Choosing ε and hold for an app, with what follows from it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card_opening import factor, span
from deeprotect.errors import InputError
from deeprotect.gateway.console import rendering
from deeprotect.gateway.console.curve import Curve
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.guard import Form
from deeprotect.gateway.console.live_page import app_of
from deeprotect.gateway.console.pages import frame
from deeprotect.gateway.console.requests import RequestRefusedError
from deeprotect.gateway.console.sessions import Session
from deeprotect.gateway.console.words import lasting
from deeprotect.gateway.offers.choices import can_mix, varied
from deeprotect.gateway.offers.consequences import accuracy_curve, holds_of, lasts, limits_of, rate_of
from deeprotect.gateway.registration.device_registry import App


@dataclass(frozen=True)
class HoldRow:
    """A hold that may be chosen; the other numbers follow from ε, which the page may change."""

    windows: int
    length: str
    seconds: float
    per_hour: float
    per_day: float
    lasts: str
    chosen: bool


async def choose_page(desk: Desk, request: Request, session: Session) -> Response:
    app = await desk.apart(lambda: app_of(desk, request))
    if app is None:
        raise RequestRefusedError(404, "name a stream and an app; the overview links to each")
    return await _shown(desk, session, app)


async def choose(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    """Refused where it would raise ε, or where the bundle's promise does not allow it."""
    stream, name = form.get("stream", ""), form.get("app", "")
    apps = await desk.apart(lambda: desk.apps_of(stream))
    app = next((each for each in apps if each.name == name), None)
    if app is None:
        raise RequestRefusedError(404, "there is no such app; it may have been revoked")
    epsilon, every = form.get("epsilon", "").strip() or None, form.get("every", "").strip() or None
    try:
        await desk.apart(lambda: _choose(desk, app, epsilon, every))
    except InputError as mistake:
        return await _shown(desk, session, app, status=422, mistake=str(mistake), typed=epsilon)
    return RedirectResponse(f"/console/choose?{urlencode({'stream': stream, 'app': name})}", 303)


def _choose(desk: Desk, app: App, epsilon: str | None, every: str | None) -> None:
    if every is not None and not (every.isascii() and every.isdigit() and len(every) < 9):
        raise InputError("a hold is a whole number of windows; choose one of those listed")
    bundle = desk.gateway.bundles.get(app.bundle)
    windows = None if every is None or int(every) == bundle.hold.windows else int(every)
    found = varied(bundle, epsilon, windows)
    if found.mechanism.event.epsilon == bundle.mechanism.event.epsilon:
        epsilon = None  # the bundle's own
    desk.gateway.registry.choose(app.name, stream=app.stream, epsilon=epsilon, every=windows)


async def _shown(desk: Desk, session: Session, app: App, *, status: int = 200, **more: Any) -> Response:
    bundle = await desk.apart(lambda: desk.gateway.bundles.get(app.bundle))
    now = desk.bundle_of(app) or bundle
    found = await desk.apart(lambda: _consequences(bundle, now))
    given = {"mistake": None, "typed": None} | more
    return rendering.page("choose.html", status=status, **frame(desk, session, "overview"), app=app, **found, **given)


def _consequences(bundle: Bundle, now: Bundle) -> dict[str, Any]:
    own, epsilon = bundle.mechanism.event, now.mechanism.event.epsilon
    limits = [(limit.name, float(limit.epsilon), limit.span) for limit in limits_of(bundle)]
    return {
        "event": own,
        "epsilon": epsilon,
        "can_mix": can_mix(bundle),
        "can_hold": own.guarantee == "ldp",
        "curve": Curve.of(list(accuracy_curve(bundle)), epsilon) if can_mix(bundle) else None,
        "factor": factor(epsilon),
        "holds": list(_holds(bundle, now)),
        "limits": [(name, value, None if span is None else span.total_seconds()) for name, value, span in limits],
    }


def _holds(bundle: Bundle, now: Bundle) -> list[HoldRow]:
    options = dict(holds_of(bundle))
    options.setdefault(now.hold.windows, now.hold.windows * bundle.policy.stream.window_seconds)
    return [_hold(bundle, now, windows, options[windows]) for windows in sorted(options)]


def _hold(bundle: Bundle, now: Bundle, windows: int, seconds: Fraction) -> HoldRow:
    rate = rate_of(now).epsilon / seconds
    times = {limit.name: lasts(limit, limit.epsilon, rate) for limit in limits_of(bundle)}
    shortest = min((time for time in times.values() if time is not None), default=None)
    words = "no limit is set" if not times else "always" if shortest is None else lasting(shortest)
    return HoldRow(
        windows,
        span(float(seconds)),
        float(seconds),
        float(rate * 3600),
        float(rate * 86400),
        words,
        windows == now.hold.windows,
    )

"""The console's routes, and the access that each requires."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from deeprotect.gateway.console import actions, graphs, guard, pages, rendering
from deeprotect.gateway.console.live_page import live
from deeprotect.gateway.mediation.gateway import Gateway

Endpoint = Callable[..., Any]
PAGES: dict[str, Endpoint] = {
    "/": pages.overview_page,
    "/console/stream": pages.stream_page,
    "/console/person": pages.person_page,
    "/console/live": live,
    "/console/policies": pages.policies_page,
    "/console/policy": pages.policy_page,
    "/console/register": pages.register_page,
    "/console/events": pages.events_page,
    "/console/history": graphs.history_page,
}
ACTIONS: dict[str, Endpoint] = {
    "/console/sign-out": guard.sign_out,
    "/console/devices": actions.register_device,
    "/console/apps": actions.register_app,
    "/console/rotate": actions.rotate,
    "/console/revoke": actions.revoke,
    "/console/raw": actions.show_raw,
    "/console/limits": actions.set_person_limits,
    "/console/link": actions.make_link,
    "/console/revoke-link": actions.revoke_link,
    "/console/resume": actions.resume,
    "/console/confirm-clock": actions.confirm_clock,
}
"""The admin's pages and forms: each of these functions requires the admin's session, or its form."""
OPEN: dict[tuple[str, str], Endpoint] = {
    ("GET", "/console/sign-in"): guard.sign_in_page,
    ("POST", "/console/sign-in"): guard.sign_in,
    ("GET", "/phone/{token}"): pages.phone_page,
    ("GET", "/me/{token}"): pages.own_page,
    ("POST", "/me/{token}"): pages.decide,
}
"""The sign-in page, and pages whose address is the secret."""


def add_console(service: FastAPI, gateway: Gateway) -> None:
    """Add the console's pages, forms and files."""
    service.state.desk = guard.Desk(gateway)
    router = APIRouter(route_class=guard.GuardedRoute, include_in_schema=False, default_response_class=Response)
    router.add_api_route("/console/static/{name:path}", _static, methods=["GET"])
    admins = [*(("GET", *each) for each in PAGES.items()), *(("POST", *each) for each in ACTIONS.items())]
    for method, path, endpoint in [*admins, *((*place, endpoint) for place, endpoint in OPEN.items())]:
        router.add_api_route(path, endpoint, methods=[method])
    service.include_router(router)


async def _static(request: Request, name: str) -> Response:
    response = await rendering.FILES.get_response(name, request.scope)
    response.headers["Cache-Control"] = "no-cache"  # cached, but revalidated
    return response

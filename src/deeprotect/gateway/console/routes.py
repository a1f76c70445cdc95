"""The console's addresses, and who may ask for each."""

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from deeprotect.gateway.console import actions, choosing, pages, rendering, signing_in
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.guard import Action, Page, form_of_admin, form_of_anyone, to_admin, to_anyone
from deeprotect.gateway.console.live_page import live
from deeprotect.gateway.console.phone import phone_page
from deeprotect.gateway.console.requests import RequestRefusedError

if TYPE_CHECKING:
    from deeprotect.gateway.mediation.gateway import Gateway

PAGES: dict[str, Page] = {
    "/": pages.overview_page,
    "/console/stream": pages.stream_page,
    "/console/live": live,
    "/console/policies": pages.policies_page,
    "/console/policy": pages.policy_page,
    "/console/choose": choosing.choose_page,
    "/console/register": pages.register_page,
}
ACTIONS: dict[str, Action] = {
    "/console/sign-out": signing_in.sign_out,
    "/console/devices": actions.register_device,
    "/console/apps": actions.register_app,
    "/console/revoke-device": actions.revoke_device,
    "/console/revoke-app": actions.revoke_app,
    "/console/raw": actions.show_raw,
    "/console/choose": choosing.choose,
}


def console_router(gateway: "Gateway") -> APIRouter:
    """Pages for the admin, forms of the admin's, the way in, and the page for a phone."""
    desk, router = Desk.of(gateway), APIRouter()
    router.add_route("/console/sign-in", to_anyone(desk, signing_in.sign_in_page), methods=["GET"])
    router.add_route("/console/sign-in", form_of_anyone(desk, signing_in.sign_in), methods=["POST"])
    router.add_route("/console/static/{name}", to_anyone(desk, _static), methods=["GET"])
    router.add_route("/phone/{token}", to_anyone(desk, phone_page), methods=["GET"])
    for path, page in PAGES.items():
        router.add_route(path, to_admin(desk, page), methods=["GET"])
    for path, action in ACTIONS.items():
        router.add_route(path, form_of_admin(desk, action), methods=["POST"])
    return router


async def _static(desk: Desk, request: Request) -> Response:
    name: str = request.path_params["name"]
    if name not in rendering.STATIC:
        raise RequestRefusedError(404, "there is no such file")
    return rendering.static_file(name, request.url.query)

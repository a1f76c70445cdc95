"""Use this phone: a page under a device's own address that sends what the browser's motion sensors read."""

from typing import Any

from fastapi import Request, Response

from deeprotect.errors import PolicyError
from deeprotect.exporting.motion_places import places_of
from deeprotect.gateway.console import rendering
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.requests import RequestRefusedError
from deeprotect.signals import Schema


async def phone_page(desk: Desk, request: Request) -> Response:
    """For whoever holds the device's token; it says no more than what is measured, and where it goes."""
    token: str = request.path_params["token"]
    device = await desk.apart(lambda: desk.gateway.registry.device_of(token))
    if device is None:
        raise RequestRefusedError(404, "there is no such device; its address may have been revoked")
    schema = await desk.apart(desk.gateway.bundles.channels)
    places = motion_channels(schema)
    response = rendering.page("phone.html", device=device, places=places, rate_hz=schema.rate_hz)
    response.headers["Permissions-Policy"] = rendering.MOTION
    response.headers["Referrer-Policy"] = "no-referrer"  # its address is a secret
    return response


def motion_channels(schema: Schema) -> list[dict[str, Any]]:
    """Those that a browser can measure, each with its place; the others are left to other senders."""
    found = []
    for channel in schema.channels:
        try:
            (place,) = places_of([channel])
        except PolicyError:
            continue
        found.append({"name": channel.name, "unit": channel.unit} | place.to_json())
    return found

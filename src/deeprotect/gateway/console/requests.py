"""What is asked of a request before it is looked at: which host it means, where it comes from, what its form holds."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from deeprotect.gateway.wire.bodies import BODY_SECONDS, read_body
from deeprotect.gateway.wire.hosts import address_of, host_of

LARGEST_FORM = 1 << 16


@dataclass
class RequestRefusedError(Exception):
    """One line for a person, and the status that goes with it."""

    status: int
    line: str
    retry_seconds: int | None = None


def check_host(request: Request, names: Collection[str]) -> None:
    """A name that somebody else pointed at this machine is not ours; addresses cannot be pointed elsewhere."""
    host = host_of(request)
    if host is None or not (host == "localhost" or host in names or address_of(host) is not None):
        raise RequestRefusedError(
            421, "this gateway is not known by that name; use its address, or start it with --name"
        )


def check_origin(request: Request) -> None:
    """A form must come from a page of our own: browsers say where from, and other programs have no form to send."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    ours = urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower() if origin else None
    if site not in (None, "same-origin") or ours is False or (site is None and ours is None):
        raise RequestRefusedError(403, "this came from another site; open the console itself and try again there")


async def read_form(request: Request) -> dict[str, str]:
    """Fields of a small form; the last one of each name."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise RequestRefusedError(415, "a form of the console is awaited here")
    body = await read_body(request, LARGEST_FORM)
    if body is None:
        raise RequestRefusedError(408, f"a form must arrive within {BODY_SECONDS:g} s; send it again")
    if len(body) > LARGEST_FORM:
        raise RequestRefusedError(413, "the form is too large")
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise RequestRefusedError(422, "the form cannot be read; reload the page and try again") from None

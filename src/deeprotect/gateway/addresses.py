"""Addresses that people type: where released messages are pushed to."""

from urllib.parse import urlsplit

from deeprotect.errors import InputError
from deeprotect.privacy.names import is_name

LONGEST = 500


def checked_push(address: str | None) -> str | None:
    """An http or https address without a password in it, for it is stored and shown; None for none."""
    if address is None or not address.strip():
        return None
    text = address.strip()
    try:
        parts = urlsplit(text)
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InputError(_WRONG) from None
    if parts.scheme not in ("http", "https") or not whole or not is_name(text, longest=LONGEST) or " " in text:
        raise InputError(_WRONG)
    if parts.username is not None or parts.password is not None:
        raise InputError("an address to push to is stored and shown; leave user and password out of it")
    return text


_WRONG = "released messages are pushed to an address such as https://host/path; give one, or leave it out"

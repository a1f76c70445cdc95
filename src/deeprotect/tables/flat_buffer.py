"""Fields of a flat buffer, in which Arrow writes its headers: found without building anything from them."""

import struct


def field(flat: bytes, *path: int) -> int | None:
    """Where a field lies, table by table; None where it is absent."""
    at = pointed(flat, 0)
    for depth, number in enumerate(path):
        table = at - struct.unpack_from("<i", flat, at)[0]
        length = struct.unpack_from("<H", flat, table)[0]
        slot = 4 + 2 * number
        offset = struct.unpack_from("<H", flat, table + slot)[0] if slot < length else 0
        if not offset:
            return None
        at = at + offset if depth == len(path) - 1 else pointed(flat, at + offset)
    return at


def vector(flat: bytes, *path: int, form: str) -> list[tuple[int, ...]]:
    """The structures of a vector; none where it is absent."""
    at = field(flat, *path)
    if at is None:
        return []
    begin, size = pointed(flat, at), struct.calcsize(form)
    count = struct.unpack_from("<I", flat, begin)[0]
    return [struct.unpack_from(form, flat, begin + 4 + size * place) for place in range(count)]


def pointed(flat: bytes, at: int) -> int:
    """Where an offset points to."""
    return at + int(struct.unpack_from("<I", flat, at)[0])

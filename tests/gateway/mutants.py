"""Messages as nobody should send them: valid ones of every wire format, changed at random."""

import json
import random

import numpy as np
import pyarrow as pa
from tests.gateway.canary import IN_SI, canaries
from tests.gateway.conftest import NAMES, STEP
from tests.gateway.live import body, start_of

ARROW = "application/vnd.apache.arrow.stream"
TIMES = [
    -1,
    0,
    1,
    2**31,
    2**53 + 1,
    2**62 - 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    -(2**63),
    1.7e18,
    "1700000000000000000",
]
ODD = [None, True, "", "NaN", "\x00", "é\u202e", [], {}, [[]], 1e308, -0.0, 5e-324, *TIMES]
TOKENS = [
    b"NaN",
    b"Infinity",
    b"-1e999",
    b"null",
    b"[" * 5000,
    b'{"a":' * 3000,
    b"\xff\xfe",
    b"\x00",
    b'"',
    b"9" * 5000,
    b"\\ud800",
]


def pushed(stream: str, first: int, count: int) -> bytes:
    """As the phone app pushes it, in its units; with things that no policy asks for."""
    entries = [{"name": "location", "time": 1, "values": {"latitude": IN_SI}}]
    for tick in range(first, first + count):
        stamp = start_of(stream) + tick * STEP
        entries.append({"name": "accelerometer", "time": stamp, "values": {"x": 0.0, "y": 0.0, "z": 0.0}})
        entries.append({"name": "gravity", "time": stamp, "values": {"x": IN_SI, "y": IN_SI, "z": IN_SI}})
    return json.dumps({"messageId": 1, "sessionId": "s", "deviceId": "anns-phone", "payload": entries}).encode()


def arrow(stream: str, first: int, count: int) -> bytes:
    times = start_of(stream) + (first + np.arange(count, dtype=np.int64)) * STEP
    table = pa.table({"time": times, **dict(zip(NAMES, canaries(count).T, strict=True))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def mutant(chance: random.Random, stream: str, number: int) -> tuple[bytes, str]:
    """Message `number` of a stream with its content type: one in ten as it should be."""
    make, kind = chance.choice([(body, "application/json"), (pushed, "application/json"), (arrow, ARROW)])
    content = make(stream, 4 * number, chance.choice([1, 4, 9]))
    how = chance.randrange(10)
    if how == 0:
        return content, kind
    if how < 5 and kind != ARROW:
        message = json.loads(content)
        for _ in range(chance.choice([1, 1, 3])):
            _change(chance, message)
        return json.dumps(message).encode("utf-8", "surrogatepass"), kind
    changed = _bytes(chance, content)
    return changed, chance.choice([kind, kind, kind, "", "text/plain", ARROW, "application/json; charset=utf-16"])


def _change(chance: random.Random, node) -> None:
    """Somewhere inside, put something odd in the place of what is there."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and chance.random() < 0.8:
            node = node[key]
            continue
        if isinstance(node, list) and chance.random() < 0.3:
            node[key:key] = [node[key]] * chance.choice([1, 2, 50])
        elif isinstance(node, dict) and chance.random() < 0.2:
            del node[key]
        else:
            node[key] = chance.choice(ODD)
        return


def _bytes(chance: random.Random, content: bytes) -> bytes:
    at, other = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    match chance.randrange(6):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + content[other:]
        case 2:
            return content[:other] + content[at:]
        case 3:
            return content[:at] + chance.choice(TOKENS) + content[at:]
        case 4:
            changed = bytearray(content)
            for _ in range(chance.choice([1, 3, 30])):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            return bytes(changed)
    return chance.randbytes(chance.choice([0, 1, 100, 5000]))

"""Raw values that can be told wherever they turn up: as text in several roundings and units, and as bytes."""

import re
import struct
from pathlib import Path

import numpy as np

CANARY = 1.2345671  # in g; no output of the small bundle is near it
SCALED = (CANARY + 4.0) / 8.0  # as networks see it
IN_SI = CANARY * 9.80665
_VARIED = 1e-12  # small enough for all digits and bytes below to stay the same
_TEXTS = [f"{value:.{digits}f}" for value in (CANARY, SCALED, IN_SI) for digits in (4, 5, 6)]
_BYTES = [
    pattern
    for value in (CANARY, SCALED, IN_SI)
    for pattern in (
        struct.pack("<d", value)[3:],  # 40 bits, the same for all varied values
        struct.pack(">d", value)[:5],
        struct.pack("<f", value),
    )
]
_NEEDLES = re.compile(b"|".join(re.escape(each) for each in [*(text.encode() for text in _TEXTS), *_BYTES]))


def canaries(count: int, channels: int = 2, *, seed: int = 0) -> np.ndarray:
    """Raw values (reading, channel), all different, all found by `leaks`."""
    numbers = np.arange(count * channels).reshape(count, channels) + seed % 100
    return CANARY + numbers % 500 * _VARIED


def leaks(content: bytes) -> list[bytes]:
    """Every place of raw values in some output."""
    return _NEEDLES.findall(content)


def leaking_files(folder: Path) -> list[str]:
    """Files anywhere below that hold raw values."""
    return [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and leaks(path.read_bytes())]

"""Idempotency keys: the same draw of the same recording of the same source is one draw, however often it is asked."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger.database_tables import LONGEST_RUN
from deeprotect.release.ledger.spans import Span
from deeprotect.signals.windows import Run
from deeprotect.tables.several import paths_of
from deeprotect.tables.sources import is_of_paths

KEY_BYTES = 16


def spans_of(runs: Iterable[Run], stream: int, *parts: str) -> list[Span]:
    """Runs of draws under keys, in pieces of at most `LONGEST_RUN`; `parts` say whose recordings they are."""
    return [
        Span(stream, _key(*parts, run.recording), first, min(first + LONGEST_RUN, end))
        for run in runs
        for end in [int(run.first) + int(run.count)]  # a database knows no numpy
        for first in range(int(run.first), end, LONGEST_RUN)
    ]


def source_of(table: Any) -> str:
    """A name for what is in a table: files go by their content; anything else is new each time.

    Not by a file's name: tomorrow's data under today's name would leave as today's draws.
    """
    paths = paths_of(table) if is_of_paths(table) else ["-"]
    if "-" in paths:
        return SystemEntropy().words(2).tobytes().hex()
    return hashlib.sha256(b"".join(map(_content, paths))).hexdigest()


def _content(path: str) -> bytes:
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _key(*parts: str) -> bytes:
    """Each part with its length before it, so that no two lists of parts make one text."""
    content = (part.encode("utf-8", "surrogatepass") for part in parts)
    joined = b"".join(len(part).to_bytes(8, "big") + part for part in content)
    return hashlib.sha256(joined).digest()[:KEY_BYTES]

"""The cost of a bundle in the engines of phones: one stream through each, without and with the protector, in one
run."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.exporting.protector_file import ProtectorFile
from studies.benchmark.engines import ENGINES, Engine, Ran
from studies.benchmark.overhead import Overhead, processor

WINDOWS = 20
"""Released one after the other, a few times."""


def engines(bundle: Bundle, *, seconds: int) -> Iterator[Overhead]:
    """Engines found in a clone in which device/ was built."""
    text = ProtectorFile.of(bundle).text
    for engine in ENGINES.values():
        if engine.is_there and engine.built("bench").is_file():
            yield from _measured(engine, text, seconds)


def _measured(engine: Engine, text: str, seconds: int) -> Iterator[Overhead]:
    """Processor time of the stream is what a longer one takes more than none."""
    off, idle = _run(engine, "", seconds=seconds), _run(engine, "")
    on, loaded = _run(engine, text, seconds=seconds), _run(engine, text)
    window, found = json.loads(_run(engine, text, windows=WINDOWS).said)["window"], json.loads(on.said)
    yield from processor(engine.name, (off.seconds - idle.seconds) / seconds, (on.seconds - loaded.seconds) / seconds)
    yield Overhead(engine.name, "time to release a window", None, window, "ms")
    yield Overhead(engine.name, "start: load the bundle", None, found["start"], "ms")
    yield Overhead(engine.name, "heap that the bundle keeps, by the engine's count", None, found["heap"], "MB")
    yield Overhead(engine.name, "memory of the process, at most", off.peak_mb, on.peak_mb, "MB")


def _run(engine: Engine, text: str, *, seconds: int = 0, windows: int = 0) -> Ran:
    values: dict[str, Any] = {"PROTECTOR": text, "SECONDS": seconds, "WINDOWS": windows}
    head = "".join(f"globalThis.{name} = {json.dumps(value)};\n" for name, value in values.items())
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bench.js"
        script.write_text(head + engine.built("bench").read_text(encoding="utf-8"), encoding="utf-8")
        ran = engine.run(script)
    if not ran.said.startswith("{"):
        raise InputError(f"{engine.name} could not be measured: {ran.said[:300]}")
    return ran

"""What a protector costs on a device: processor time, memory and delay of a live stream, with it and without."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.exporting.browser import export_browser

SECONDS = 60
BATTERY_PER_PROCESSOR = 2.5 / 3.8
"""The paper measured 2.5 % battery beside 3.8 % processor; there is no battery here to measure."""
BROWSER = Path(__file__).parents[3] / "browser"
OVERHEAD = BROWSER / "out" / "proof" / "overhead.mjs"


@dataclass(frozen=True)
class Overhead:
    """One figure of one place, without and with the protector; `added` is the difference, None where there is none."""

    place: str
    what: str
    off: float | None
    on: float
    unit: str

    @property
    def added(self) -> float | None:
        return None if self.off is None else self.on - self.off

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"added": self.added}


def measure(path: Path, *, seconds: int = SECONDS) -> list[Overhead]:
    """Python, and the browser where node, Chromium and a clone are there."""
    bundle = Bundle.load(path)
    return [*python(path, bundle, seconds=seconds), *browser(bundle, seconds=seconds)]


def python(path: Path, bundle: Bundle, *, seconds: int) -> Iterator[Overhead]:
    """A stream pushed sample by sample through the protector, against one that is copied."""
    off, on = (_streamed(given, bundle, seconds) for given in ("-", str(path)))
    yield from _processor("Python", off["cpu"], on["cpu"])
    yield Overhead("Python", "memory of the process", off["memory"], on["memory"], "MB")
    yield Overhead("Python", "time to release a window", None, on["window"], "ms")
    yield Overhead("Python", "delay by design", 0.0, _window_ms(bundle), "ms")


def browser(bundle: Bundle, *, seconds: int) -> Iterator[Overhead]:
    """A page that listens, without and with the extension, in two browsers at once."""
    if not OVERHEAD.is_file() or shutil.which("node") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        exported = export_browser(bundle, Path(folder) / "out")
        command = ["node", str(OVERHEAD), str(exported.extension), str(seconds)]
        done = subprocess.run(command, cwd=BROWSER, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise InputError("the browser could not be measured; run `make browser`, and see that chromium starts")
    found = json.loads(done.stdout)
    yield from _processor("browser", found["off"]["cpu"], found["on"]["cpu"])
    yield Overhead("browser", "memory of all processes", found["off"]["memory"], found["on"]["memory"], "MB")
    yield Overhead("browser", "time to release a window", None, found["alone"]["window"], "ms")
    five = found["five"]
    yield Overhead("browser", "processor time, five visible windows", 100 * five["off"]["cpu"], 100 * five["on"]["cpu"], "%")
    # A held draw tells of the episode before, and plays without delay.
    yield Overhead("browser", "delay by design", 0.0, _window_ms(bundle) if bundle.hold.windows == 1 else 0.0, "ms")
    yield Overhead("browser", "start: load and check the bundle", None, found["alone"]["start"], "ms")
    yield Overhead("browser", "scripts, compressed, without the bundle", None, found["kilobytes"], "kB")


def _streamed(given: str, bundle: Bundle, seconds: int) -> dict[str, float]:
    schema = bundle.schema
    sizes = [str(seconds), str(schema.rate_hz), str(len(schema.channels))]
    command = [sys.executable, "-m", "deeprotect.benchmark.device_stream", given, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _processor(place: str, off: float, on: float) -> Iterator[Overhead]:
    yield Overhead(place, "processor time of a second of the stream", 100 * off, 100 * on, "%")
    guess = BATTERY_PER_PROCESSOR * 100
    yield Overhead(place, "battery, estimated from processor time", guess * off, guess * on, "%")


def _window_ms(bundle: Bundle) -> float:
    return 1000 * bundle.schema.window / bundle.schema.rate_hz

"""The cost of a protector on a device: CPU time, memory and delay of a live stream, with it and without."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.exporting.targets import EXTENSION, export_browser
from studies.benchmark import own_process
from studies.benchmark.device_engines import engines
from studies.benchmark.engines import ENGINES
from studies.benchmark.overhead import Overhead, paper, processor

SECONDS = 60
BROWSER = Path(__file__).parents[2] / "browser"
OVERHEAD = BROWSER / "out" / "proof" / "overhead.mjs"


def measure(path: Path, *, seconds: int = SECONDS) -> list[Overhead]:
    """Python; in a clone that was built, engines of phones and the browser, too; the paper's figures beside them."""
    bundle = Bundle.load(path)
    found = [
        *python(path, bundle, seconds=seconds),
        *engines(bundle, seconds=seconds),
        *browser(bundle, seconds=seconds),
    ]
    return [*found, *paper()]


def left_out(overheads: Sequence[Overhead]) -> list[str]:
    """Places that could be measured and were not, each with how to get it."""
    measured = {each.place for each in overheads}
    places = {"browser": "the browser"} | {each.name: f"{each.name} ({each.missing})" for each in ENGINES.values()}
    return [said for place, said in places.items() if place not in measured]


def python(path: Path, bundle: Bundle, *, seconds: int) -> Iterator[Overhead]:
    """A stream pushed sample by sample through the protector, against one that is copied."""
    off, on = (_streamed(given, bundle, seconds) for given in ("-", str(path)))
    yield from processor("Python", off["cpu"], on["cpu"])
    yield Overhead("Python", "memory of the process", off["memory"], on["memory"], "MB")
    yield Overhead("Python", "time to release a window", None, on["window"], "ms")
    yield Overhead("Python", "delay by design", 0.0, _window_ms(bundle), "ms")


def browser(bundle: Bundle, *, seconds: int) -> Iterator[Overhead]:
    """A page that listens, without and with the extension, in two browsers at once."""
    if not OVERHEAD.is_file() or shutil.which("node") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        export_browser(bundle, Path(folder) / "out")
        command = ["node", str(OVERHEAD), str(Path(folder) / "out" / EXTENSION), str(seconds)]
        done = subprocess.run(command, cwd=BROWSER, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise InputError("the browser could not be measured; run `make browser`, and see that chromium starts")
    found = json.loads(done.stdout)
    yield from processor("browser", found["off"]["cpu"], found["on"]["cpu"])
    yield Overhead("browser", "memory of all processes", found["off"]["memory"], found["on"]["memory"], "MB")
    yield Overhead("browser", "time to release a window", None, found["alone"]["window"], "ms")
    five = found["five"]
    yield Overhead(
        "browser", "processor time, five visible windows", 100 * five["off"]["cpu"], 100 * five["on"]["cpu"], "%"
    )
    # A held draw tells of the episode before, and plays without delay.
    yield Overhead("browser", "delay by design", 0.0, _window_ms(bundle) if bundle.hold.windows == 1 else 0.0, "ms")
    yield Overhead("browser", "start: load and check the bundle", None, found["alone"]["start"], "ms")
    yield Overhead("browser", "scripts, compressed, without the bundle", None, found["kilobytes"], "kB")


def _streamed(given: str, bundle: Bundle, seconds: int) -> dict[str, float]:
    schema = bundle.schema
    sizes = [str(seconds), str(schema.rate_hz), str(len(schema.channels))]
    command = [*own_process.program("device_stream"), given, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _window_ms(bundle: Bundle) -> float:
    return 1000 * bundle.schema.window / bundle.schema.rate_hz

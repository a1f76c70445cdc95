"""JavaScript engines that phones and embedders have, as programs that run one script; in a clone."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from deeprotect.errors import InputError

DEVICE = Path(__file__).parents[2] / "device"


@dataclass(frozen=True)
class Ran:
    """A script's output, CPU seconds and peak resident memory."""

    said: str
    seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Engine:
    """A command that takes a script, and how to get it; Hermes knows no classes, and gets what React Native's preset
    makes of them."""

    name: str
    command: tuple[str, ...]
    missing: str
    suffix: str = ".js"

    @property
    def is_there(self) -> bool:
        program = Path(self.command[0])
        return bool(shutil.which(program)) if len(program.parts) == 1 else os.access(program, os.X_OK)

    def built(self, name: str) -> Path:
        """One of the scripts that device/build.mjs makes for engines."""
        return DEVICE / "out" / "engine" / f"{name}{self.suffix}"

    def run(self, script: Path) -> Ran:
        command = [*self.command, str(script)]
        with TemporaryFile("w+") as said, TemporaryFile("w+") as failed:
            process, peak = subprocess.Popen(command, cwd=DEVICE, stdout=said, stderr=failed), 0.0  # noqa: S603
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            while not ended:
                peak = max(peak, _resident_mb(process.pid))
                time.sleep(0.002)
                ended, status, used = os.wait4(process.pid, os.WNOHANG)
            process.returncode = os.waitstatus_to_exitcode(status)
            text, error = ((stream.seek(0), stream.read())[1] for stream in (said, failed))
        if process.returncode:
            raise InputError(f"{self.name} ended with {process.returncode}: {(text + error)[-500:]}")
        return Ran(text, used.ru_utime + used.ru_stime, peak)


def _resident_mb(pid: int) -> float:
    """At most so far, of its own: in ru_maxrss the kernel counts what its parent had when it was started."""
    try:
        found = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


_HERMES = str(DEVICE / "node_modules" / "hermes-engine-cli" / "linux64-bin" / "hermes")
_PRINTING = "globalThis.print = console.log; require(require('path').resolve(process.argv[1]))"
ENGINES: Mapping[str, Engine] = {
    each.name: each
    for each in (
        Engine("node", ("node", "--expose-gc", "-e", _PRINTING), "install nodejs"),
        Engine("JavaScriptCore", ("jsc",), "install libjavascriptcoregtk-4.0-bin"),
        Engine("Hermes", (_HERMES, "-w", "-O"), "npm ci in device/, on Linux for x86-64", ".hermes.js"),
        Engine("QuickJS", ("node", "test/quickjs.mjs"), "install nodejs, npm ci in device/"),
    )
}

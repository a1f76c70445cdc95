"""JavaScript engines that phones and embedders have, as programs that run one script."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.node_packages import ROOT, lack

DEVICE = ROOT / "device"
MODULES = DEVICE / "node_modules"


@dataclass(frozen=True)
class Engine:
    """A command that takes a script, and how to get it; Hermes knows no classes and gets what React Native's preset
    makes of them."""

    name: str
    command: tuple[str, ...]
    missing: str
    suffix: str = ".js"

    def run(self, script: Path) -> str:
        program = Path(self.command[0])
        if not (shutil.which(program) if len(program.parts) == 1 else os.access(program, os.X_OK)):
            lack(f"{self.name} is missing: {self.missing}")
        done = subprocess.run([*self.command, script], cwd=DEVICE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout


HERMES = str(MODULES / "hermes-engine-cli" / "linux64-bin" / "hermes")
PRINTING = "globalThis.print = console.log; require(require('path').resolve(process.argv[1]))"
ENGINES = {
    each.name: each
    for each in (
        Engine("node", ("node", "-e", PRINTING), "install nodejs"),
        Engine("JavaScriptCore", ("jsc",), "install libjavascriptcoregtk-4.0-bin"),
        Engine("Hermes", (HERMES, "-w"), "npm ci in device/, on Linux for x86-64", ".hermes.js"),
        Engine("QuickJS", ("node", "test/quickjs.mjs"), "install nodejs"),
    )
}

"""A folder with an npm package: installed, its types checked, its tests built once, whichever worker comes first."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REQUIRED = bool(os.environ.get("DEEPROTECT_REQUIRE_SERVICES"))


def lack(reason):
    """Skip, or fail where nothing may be skipped for want of a program; files that are not ours may be missing."""
    pytest.fail(reason) if REQUIRED and "web-platform-tests" not in reason else pytest.skip(reason)


class NodePackage:
    """One of ours, by its folder; `also` are folders of others that it is built from."""

    def __init__(self, name, *, also=()):
        self.folder, self.sources = ROOT / name, [ROOT / name, *(ROOT / other for other in also)]
        self.tests = sorted(path.name.removesuffix(".test.ts") for path in (self.folder / "test").glob("*.test.ts"))

    def run(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def build(self):
        if shutil.which("npm") is None:
            lack("node and npm are missing: install nodejs and npm")
        (self.folder / "out").mkdir(exist_ok=True)
        with (self.folder / "out" / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.folder / "out" / "built"
            if not done.exists() or done.stat().st_mtime <= self._newest():
                self._build_now()
                done.touch()

    def test(self, name):
        finished = self.run("node", "--test", "--test-reporter=tap", f"out/test/{name}.test.mjs")
        assert finished.returncode == 0, failures(finished.stdout)
        skipped = re.search(r"# SKIP (.*)", finished.stdout)
        if skipped:
            lack(skipped[1])

    def _newest(self):
        parts = [folder / part for folder in self.sources for part in ("src", "test", "static", "build.mjs")]
        files = [path for part in parts for path in (part, *part.rglob("*")) if path.is_file()]
        return max(path.stat().st_mtime for path in files)

    def _build_now(self):
        if not (self.folder / "node_modules").is_dir() and self.run("npm", "ci", "--no-audit", "--no-fund").returncode:
            lack(f"npm could not install the packages of {self.folder.name}")
        for command in (("npm", "run", "--silent", "check"), ("node", "build.mjs", "test")):
            finished = self.run(*command)
            assert finished.returncode == 0, finished.stdout + finished.stderr


def failures(report):
    """The lines of a report that say what failed."""
    kept = [part for part in report.split("\nok ") if "not ok " in part]
    return "\n".join(kept)[-6000:] or report[-6000:]

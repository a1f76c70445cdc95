"""The browser's own tests, in node and in a real Chromium, through the one test command."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = Path(__file__).parents[2] / "browser"
NAMES = sorted(path.name.removesuffix(".test.ts") for path in (BROWSER / "test").glob("*.test.ts"))
REQUIRED = bool(os.environ.get("DEEPROTECT_REQUIRE_SERVICES"))


def lack(reason):
    """Skip, or fail where nothing may be skipped for want of a program; files that are not ours may be missing."""
    pytest.fail(reason) if REQUIRED and "web-platform-tests" not in reason else pytest.skip(reason)


def run(*command):
    return subprocess.run(command, cwd=BROWSER, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def built():
    """Packages installed, types checked, everything built: once, whichever worker comes first."""
    if shutil.which("npm") is None:
        lack("node and npm are missing: install nodejs and npm")
    (BROWSER / "out").mkdir(exist_ok=True)
    with (BROWSER / "out" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(
            path.stat().st_mtime for folder in ("src", "test", "static") for path in (BROWSER / folder).rglob("*")
        )
        done = BROWSER / "out" / "built"
        if done.exists() and done.stat().st_mtime > newest:
            return
        if not (BROWSER / "node_modules").is_dir():
            installed = run("npm", "ci", "--no-audit", "--no-fund")
            if installed.returncode:
                lack("npm could not install the browser's packages")
        for command in (("npm", "run", "--silent", "check"), ("node", "build.mjs", "test")):
            finished = run(*command)
            assert finished.returncode == 0, finished.stdout + finished.stderr
        done.touch()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.timeout(600)
def test_browser(name, built):
    finished = run("node", "--test", "--test-reporter=tap", f"out/test/{name}.test.mjs")
    assert finished.returncode == 0, failures(finished.stdout)
    skipped = re.search(r"# SKIP (.*)", finished.stdout)
    if skipped:
        lack(skipped[1])


def failures(report):
    """The lines of a report that say what failed."""
    kept = [part for part in report.split("\nok ") if "not ok " in part]
    return "\n".join(kept)[-6000:] or report[-6000:]

"""Build the wheel, install every extra into a fresh environment, and run a command of each.

`make smoke`; plain Python, for nothing of ours is installed where it runs. With names of extras it tries only those.
Versions are those of constraints.txt, so that pip finds what it has fetched before.
"""

import argparse
import csv
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_MB = {"wheel": 1, "protectors": 0.5, "base": 350}
MOST_SECONDS = {"import deeprotect": 0.2, "deeprotect --help": 0.4}
NOT_TRIED = {"all": "the others together", "docs": "make docs", "dev": "make test"}
BASE = "base"

POLICY = """version = 1
[stream]
rate_hz = 10
window = 10
[stream.channels.acc_x]
unit = "g"
range = [-4.0, 4.0]
[stream.channels.acc_y]
unit = "g"
range = [-4.0, 4.0]
[inferences]
useful = ["activity"]
[privacy]
epsilon = 5.0
"""
SIGN = """
from pathlib import Path
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from deeprotect.bundle import Bundle, signing
key = Ed25519PrivateKey.generate()
Path("key.pem").write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
Path("public.pem").write_bytes(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
signing.save(Bundle.load("protector"), Path("signed"), key=signing.private_key(Path("key.pem")))
"""
# All that an extra without a command asks for, by the names that its distributions have for Python.
IMPORTS = """
import importlib, re, sys
from importlib import metadata
plain = lambda name: re.sub("[-_.]+", "-", name).lower()
modules = {}
for module, owners in metadata.packages_distributions().items():
    for owner in owners:
        modules.setdefault(plain(owner), []).append(module)
asked = [each for each in metadata.requires("deeprotect") or () if re.search(f"extra == .{sys.argv[1]}.$", each)]
for each in asked:
    for module in modules[plain(re.match("[A-Za-z0-9._-]+", each)[0])]:
        if not module.startswith("_"):
            importlib.import_module(module)
"""
# Studies are part of a clone, not of the wheel.
STUDIES = "import sys; sys.path.append(sys.argv.pop(1)); from studies.__main__ import main; main()"
SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
LEDGER = "import sqlalchemy as s; s.create_engine('postgresql+psycopg://nobody@localhost/nothing')"
TYPED = "import sys, pyarrow.csv as c, pyarrow.parquet as p; p.write_table(c.read_csv('walk.csv'), sys.argv[1])"
DASK = "from deeprotect.engines import dask; dask.protect('dask.parquet', 'protector', out='on-dask')"
# What base has no need of: a protector, its proof and its card work without.
ABSENT = "import importlib.util as u; assert not any(map(u.find_spec, ('scipy', 'torch', 'sklearn', 'matplotlib')))"
# Exports are whole without a clone and without node: the wheel carries the scripts.
SCRIPTS = """
from pathlib import Path
for script in ("for-browsers/extension/worker.js", "for-browsers/embedded/deeprotect.js", "for-devices/deeprotect.js"):
    assert Path(script).stat().st_size > 2000, script
"""
COMMANDS: dict[str, list[list[str]]] = {
    "train": [["deeprotect", "train", "policy.toml", "--data", "walk.csv", "--out", "protector"]],
    BASE: [
        ["python", "-c", ABSENT],
        ["deeprotect", "--version"],
        ["deeprotect", "inferences"],
        ["deeprotect", "check", "walk.csv", "policy.toml"],
        ["deeprotect", "prepare", "walk.csv", "--out", "walk.parquet"],
        ["deeprotect", "init", "walk.csv", "--useful", "activity", "--out", "draft.toml"],
        ["deeprotect", "describe", "protector"],
        ["deeprotect", "verify", "protector"],
        ["deeprotect", "protect", "protector", "walk.parquet", "released.parquet"],
        ["deeprotect", "export", "protector", "--target", "browser", "--out", "for-browsers"],
        ["deeprotect", "export", "protector", "--target", "device", "--out", "for-devices"],
        ["python", "-c", SCRIPTS],
    ],
    "onnx": [["deeprotect", "export", "protector", "--target", "onnx", "--out", "for-others"]],
    "sign": [["python", "-c", SIGN], ["deeprotect", "verify", "signed", "--key", "public.pem"]],
    "evaluate": [
        ["deeprotect", "evaluate", "policy.toml", "--data", "walk.csv", "--out", "report", "--quick", "--jobs", "1"],
    ],
    "studies": [["python", "-c", STUDIES, str(ROOT), "bench", "--short", "--part", "noise"]],
    "spark": [  # needs Java
        ["python", "-c", TYPED, "spark.parquet"],
        ["deeprotect", "protect", "--engine", "spark", "--master", "local[1]", "protector", "spark.parquet", "out"],
    ],
    "dask": [["python", "-c", TYPED, "dask.parquet"], ["python", "-c", DASK]],
    "ledger": [["python", "-c", LEDGER], ["deeprotect", "budget", "--help"]],
}
"""In the order in which they run: the first trains the protector that the others use. Extras that are not here come
last, and are imported only."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("extras", nargs="*", help="only these; base for none")
    wanted = arguments.parse_args().extras
    with tempfile.TemporaryDirectory(prefix="deeprotect-smoke-") as name:
        folder = Path(name)
        wheel = build(folder)
        (folder / "policy.toml").write_text(POLICY)
        write_table(folder / "walk.csv")
        for extra in in_order():
            if not wanted or extra in wanted or extra == "train":
                smoke(extra, wheel, folder)


def in_order() -> list[str]:
    """Every extra that brings something."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tried = [extra for extra, needs in extras.items() if needs and extra not in NOT_TRIED]
    known = [extra for extra in COMMANDS if extra == BASE or extra in tried]
    return [*known, *(extra for extra in tried if extra not in COMMANDS)]


def build(folder: Path) -> Path:
    """The wheel as it is made from the source distribution, so that both carry everything; node is not asked for."""
    place = folder / "venv-build"
    venv.create(place, with_pip=True)
    run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "setuptools>=77"])
    run([str(place / "bin" / "python"), "-c", SDIST, str(folder)], cwd=ROOT)
    (sources,) = folder.glob("*.tar.gz")
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sources)])
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        ready = sum(each.compress_size for each in archive.infolist() if "/protectors/" in each.filename)
    check("wheel without its protectors", (wheel.stat().st_size - ready) / 2**20, MOST_MB["wheel"], "MB")
    check("protectors in the wheel", ready / 2**20, MOST_MB["protectors"], "MB")
    return wheel


def smoke(extra: str, wheel: Path, folder: Path) -> None:
    """One extra in an environment of its own, which is removed again."""
    start, place = time.monotonic(), folder / f"venv-{extra}"
    venv.create(place, with_pip=True)
    what = str(wheel) if extra == BASE else f"{wheel}[{extra}]"
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    compiled = [] if extra == BASE else ["--no-compile"]  # a minute of work; but the size of base is as users have it
    run([*pip, *compiled, "--constraint", str(ROOT / "constraints.txt"), what])
    megabytes = size_mb(place / "lib")
    print(f"smoke: {extra}: {megabytes:.0f} MB installed", flush=True)
    if extra == BASE:
        check("base install", megabytes, MOST_MB[BASE], "MB")
        starts(place)
    commands = COMMANDS.get(extra, [["deeprotect", "--version"], ["python", "-c", IMPORTS, extra]])
    for command in commands:
        run([str(place / "bin" / command[0]), *command[1:]], cwd=folder)
    shutil.rmtree(place)
    print(f"smoke: {extra}: {len(commands)} commands, {time.monotonic() - start:.0f} s", flush=True)


def starts(place: Path) -> None:
    """Processor time of starting up, the least of a few."""
    for what, command in {
        "import deeprotect": ["python", "-c", "import deeprotect"],
        "deeprotect --help": ["deeprotect", "--help"],
    }.items():
        seconds = min(processor_seconds([str(place / "bin" / command[0]), *command[1:]]) for _ in range(5))
        check(what, seconds, MOST_SECONDS[what], "s")


def processor_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size_mb(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


def write_table(path: Path) -> None:
    """Two activities in turn, in eight recordings."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time", "acc_x", "acc_y", "recording", "activity"])
        for row in range(8 * 400):
            recording, second = divmod(row, 400)
            fast = 1.0 if (second // 100) % 2 else 0.2
            swing = [fast * math.sin(row * 0.9), fast * math.cos(row * 0.7) + 0.01 * (row % 7)]
            writer.writerow([second / 10, *swing, f"r{recording}", "run" if fast == 1.0 else "rest"])


def check(what: str, found: float, most: float, unit: str) -> None:
    print(f"smoke: {what}: {found:.3g} {unit}, at most {most} {unit}", flush=True)
    if found > most:
        sys.exit(f"smoke: {what} is too large")


def run(command: list[str], cwd: Path | None = None) -> None:
    """Quietly; what went wrong is shown."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"smoke: {' '.join(command)[:300]}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


if __name__ == "__main__":
    main()

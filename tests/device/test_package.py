"""The npm package as its users get it: packed, installed, imported both ways; the examples, built as written."""

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.device.test_node import DEVICE, built  # noqa: F401
from tests.device.test_vectors import VECTORS
from tests.node_packages import REQUIRED, ROOT, lack

from deeprotect import __version__
from deeprotect.bundle import Bundle
from deeprotect.exporting.protector_file import ProtectorFile

EXAMPLES = ROOT / "examples"
LARGEST_KB = 40
USE = """
const bundle = Bundle.pinned(fs.readFileSync("protector.json", "utf8"), process.argv[2]);
const ledger = new Ledger({ load: async () => undefined, save: async () => {} });
const pipe = new Pipe(bundle, ledger, bundle.policy.hold, "nothing");
pipe.push(0, new Float64Array(bundle.policy.schema.dim), 0).then(({ window }) => console.log(window.length));
"""
IMPORTED = 'import fs from "node:fs"; import { Bundle, Ledger, Pipe } from "deeprotect";' + USE
REQUIRED_SCRIPT = 'const fs = require("node:fs"); const { Bundle, Ledger, Pipe } = require("deeprotect");' + USE
TYPED = """import { Accelerometer, protect } from "deeprotect/expo";
import { Bundle, type Host } from "deeprotect";
export const digest: string = Bundle.pinned("", "").promise.guarantee;
export function listen(host: Host): void {
  protect({ format: "deeprotect-device", version: 1 }, host);
  Accelerometer.addListener(({ x }) => x.toFixed(3)).remove();
}
"""


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


BOARD = """import { mock } from "node:test";
const kept = new Map<string, string>();
export const storage = {
  getItem: async (key: string) => kept.get(key) ?? null,
  setItem: async (key: string, value: string) => void kept.set(key, value),
};
let sense = (x: number, y: number, z: number): void => {};
export const imu = {
  poll(intervalMs: number, read: typeof sense): () => void {
    sense = read;
    return () => {};
  },
};
mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_700_000_000_000 });
setImmediate(async () => {
  for (let at = 0; at < 100; at += 1) {
    sense(99, Math.sin(at), 9);
    mock.timers.tick(10);
    for (let turn = 0; turn < 6; turn += 1) await new Promise((done) => setImmediate(done));
  }
  process.exit();
});
"""
WALK = """import { mock } from "node:test";
const kept = new Map();
export const storage = {
  getItem: async (key) => kept.get(key) ?? null,
  setItem: async (key, value) => void kept.set(key, value),
};
let sense = () => {};
export const imu = { poll: (_, read) => ((sense = read), () => {}) };
mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_700_000_000_000 });
setImmediate(async () => {
  for (let at = 0; at < 1500; at += 1) {
    sense({ acceleration: [77.123, 4 * Math.cos(at), 1], rotationRate: [1999.123, 20 * Math.sin(at), 10] });
    mock.timers.tick(20);
    for (let turn = 0; turn < 6; turn += 1) await new Promise((done) => setImmediate(done));
  }
  console.log([...kept.values()].join());
  process.exit();
});
"""
TSC = ("--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--resolveJsonModule")


@pytest.fixture(scope="module")
def packed(built):  # noqa: F811
    run("npm", "pack", "--ignore-scripts", cwd=DEVICE.folder)
    return DEVICE.folder / f"deeprotect-{__version__}.tgz"


@pytest.fixture(scope="module")
def stranger(packed, tmp_path_factory):
    """A folder with nothing but the package."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "package.json").write_text('{"private": true}')
    run("npm", "install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund", str(packed), cwd=folder)
    (folder / "protector.json").write_text(bundle()["protector"])
    return folder


def bundle():
    return next(each for each in VECTORS["bundles"] if each["kind"] == "channel ldp")


def test_the_package_holds_what_was_built_and_depends_on_nothing(packed):
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        stated = json.load(archive.extractfile("package/package.json"))
    kinds = {"README.md", "LICENSE", "package.json"}
    assert kinds <= names
    assert all(name in kinds or name.startswith("dist/") for name in names)
    assert {
        f"dist/{entry}.{end}" for entry in ("index", "expo", "capacitor") for end in ("js", "cjs", "d.ts", "d.cts")
    } <= names
    assert "dependencies" not in stated


@pytest.mark.parametrize(("name", "text"), [("use.mjs", IMPORTED), ("use.cjs", REQUIRED_SCRIPT)])
def test_it_is_imported_both_ways(name, text, stranger):
    (stranger / name).write_text(text)
    assert run("node", name, bundle()["digest"], cwd=stranger).strip() == "12"


@pytest.mark.parametrize("name", ["typed.mts", "typed.cts"])
def test_its_types_are_found_by_both_kinds_of_modules(name, stranger):
    (stranger / name).write_text(TYPED)
    for package in ("expo-sensors", "expo-modules-core"):
        if not (stranger / "node_modules" / package).exists():
            shutil.copytree(DEVICE.folder / "node_modules" / package, stranger / "node_modules" / package)
    tsc = DEVICE.folder / "node_modules" / ".bin" / "tsc"
    run(tsc, "--noEmit", "--strict", "--skipLibCheck", "--types", "", "--module", "nodenext", name, cwd=stranger)


def test_the_pages_own_host_runs_as_written(stranger):
    page = (ROOT / "docs" / "device.md").read_text()
    (host,) = (block for block in re.findall(r"```ts\n(.*?)```", page, re.DOTALL) if "new Motion(" in block)
    assert len([line for line in host.splitlines() if line]) <= 12
    (stranger / "host.mts").write_text(host)
    (stranger / "board.mts").write_text(BOARD)
    modules = DEVICE.folder / "node_modules"
    run(modules / ".bin" / "tsc", *TSC, "--typeRoots", modules / "@types", "--types", "node", "host.mts", cwd=stranger)
    first, then, *readings = run("node", "host.mjs", cwd=stranger).splitlines()
    assert (first, then) == ("starting", "live")
    assert len(readings) > 10
    assert all(abs(float(value)) <= 14 for each in readings for value in re.findall(r"[-0-9.e]+", each)), "as released"


def test_the_ready_protector_is_installed_and_releases_motion(built, tmp_path):  # noqa: F811
    """The tarball that `make dist` packs, and the example as written, with a board whose clock is simulated."""
    device, app = tmp_path / "device", tmp_path / "app"
    shutil.copytree(DEVICE.folder, device, ignore=shutil.ignore_patterns("node_modules", "out", "*.tgz"))
    (device / "protectors").mkdir(exist_ok=True)
    (device / "protectors" / "activity.json").write_text(ProtectorFile.of(Bundle.load(Path("activity"))).text)
    run("npm", "pack", "--ignore-scripts", cwd=device)
    shutil.copytree(EXAMPLES / "node", app, ignore=shutil.ignore_patterns("node_modules", "package-lock.json"))
    (app / "board.mjs").write_text(WALK)
    tarball = device / f"deeprotect-{__version__}.tgz"
    run("npm", "install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund", str(tarball), cwd=app)
    *lines, charges = run("npm", "start", "--silent", cwd=app).splitlines()
    states = [line for line in lines if not line.startswith("{")]
    assert (states[0], states[-1]) == ("starting", "live")
    readings = [json.loads(line) for line in lines if line.startswith("{")]
    assert len({str(reading) for reading in readings}) > 10
    assert all(reading["acceleration"] and reading["rotationRate"] for reading in readings)
    sensors = ("acceleration", "rotationRate")
    released = {value for reading in readings for sensor in sensors for value in reading[sensor]}
    assert not released & {77.123, 1999.123}, "nothing raw"
    assert sum(draws for _, draws, _ in json.loads(charges)["minutes"]) >= 2


def test_it_is_packed_from_its_folder_alone(tmp_path):
    """By npm's own hooks, from a copy outside the repository."""
    alone = tmp_path / "alone"
    shutil.copytree(DEVICE.folder, alone, symlinks=True, ignore=shutil.ignore_patterns("node_modules", "dist", "out"))
    (alone / "node_modules").symlink_to(DEVICE.folder / "node_modules")
    run("npm", "pack", cwd=alone)
    assert (alone / f"deeprotect-{__version__}.tgz").stat().st_size > 10_000
    assert (DEVICE.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_script_without_a_bundle_is_small(built):  # noqa: F811
    import gzip

    script = (DEVICE.folder / "out" / "files" / "device" / "deeprotect.js").read_bytes()
    assert len(gzip.compress(script)) < LARGEST_KB * 1000


def test_the_examples_protector_is_one_of_this_version():
    assert (EXAMPLES / "protector.json").read_text() == bundle()["protector"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["capacitor", "expo"])
@pytest.mark.timeout(1200)
def test_an_example_is_built_as_written(name, packed, tmp_path):
    """Builds a copy, as from a fresh clone; Expo's is bundled by Metro, as by Expo's own tools."""
    if name == "expo" and not REQUIRED:
        lack("Expo's packages are half a gigabyte; DEEPROTECT_REQUIRE_SERVICES=1 fetches them")
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("node_modules", "package-lock.json"))
    (tmp_path / "device").mkdir()
    shutil.copy(packed, tmp_path / "device")
    folder = tmp_path / "examples" / name
    try:
        run("npm", "install", "--no-audit", "--no-fund", cwd=folder)
    except AssertionError as error:
        lack(f"npm could not install the example's packages: {error}")
    run("npm", "run", "--silent", "check", cwd=folder)
    run("npm", "run", "--silent", "bundle", cwd=folder)
    made = [
        path for path in folder.rglob("*") if path.suffix in {".js", ".hbc"} and path.parent.name in {"www", "android"}
    ]
    assert any(b"deeprotect-device" in path.read_bytes() for path in made), made

"""The Kotlin of docs/native.md, compiled as written and run: stand-ins for Android's classes, node as the engine."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.device.engines import DEVICE
from tests.device.test_node import built  # noqa: F401
from tests.device.test_package import bundle, run
from tests.node_packages import REQUIRED, ROOT, lack

COMPILER = "kotlin-compiler@2.4.20"
STAND_INS = Path(__file__).parent / "kotlin"
OUT = ROOT / "device" / "out" / "kotlin"
TOO_SHORT = "InputError: a window has 12 values, not 11"


@pytest.fixture(scope="module")
def compiler():
    """The folder of the compiler's jars; npm has it as a package."""
    for program in ("java", "node", "npm"):
        if shutil.which(program) is None:
            lack(f"{program} is missing: install openjdk-17-jre-headless, nodejs and npm")
    home = OUT / "node_modules" / "kotlin-compiler"
    if not home.is_dir():
        if not REQUIRED:
            lack("Kotlin's compiler has 94 MB; DEEPROTECT_REQUIRE_SERVICES=1 fetches it")
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "package.json").write_text('{"private": true}')
        try:
            run("npm", "install", "--no-audit", "--no-fund", COMPILER, cwd=OUT)
        except AssertionError as error:
            lack(f"npm could not install Kotlin's compiler: {error}")
    return home


def code(language, *, digest):
    (block,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / "native.md").read_text(), re.DOTALL)
    return block.replace("…", digest, 1)


@pytest.fixture(scope="module")
def app(compiler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kotlin")
    (folder / "Protector.kt").write_text(code("kotlin", digest=bundle()["digest"]))
    sources = [folder / "Protector.kt", *sorted(STAND_INS.glob("*.kt"))]
    command = ["java", "-cp", compiler / "lib" / "kotlin-compiler.jar", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"]
    run(*command, "-kotlin-home", compiler, "-no-reflect", "-d", folder / "app.jar", *sources, cwd=folder)
    return [folder / "app.jar", compiler / "lib" / "kotlin-stdlib.jar"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_kotlin_of_the_page_releases_charges_and_survives_readings_that_are_no_numbers(app, built, tmp_path):  # noqa: F811
    assets, files = tmp_path / "assets", tmp_path / "files"
    for folder in (assets, files):
        folder.mkdir()
    shutil.copy(DEVICE / "out" / "files" / "device" / "deeprotect.js", assets)
    (assets / "protector.json").write_text(bundle()["protector"])
    done = subprocess.run(
        ["java", "-cp", ":".join(map(str, app)), "MainKt", str(files), str(assets)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines, draws = done.stdout.splitlines(), 0
    assert [line for line in lines if "|" not in line] == 2 * [TOO_SHORT]
    for line in (line for line in lines if "|" in line):
        pushed, released, stored = re.fullmatch(r"(\S+) (.*) \| (.*)", line).groups()
        draws += pushed in ("1.0", "2.0")
        assert len(list(map(float, released.split()))) == 12
        assert sum(each for _, each, _ in json.loads(stored)["minutes"]) == draws, "a placeholder costs nothing"
    assert draws == 4

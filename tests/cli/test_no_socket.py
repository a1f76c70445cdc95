"""No verb opens a socket or leaves a file behind in the user's home, nor does any library it loads.

`datasets fetch` downloads, `gateway serve` listens and `gateway replay` sends; that is what they are for.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.cli import no_network

from deeprotect.cli.app import app

pytestmark = pytest.mark.skipif(not no_network.KNOWN, reason="needs Linux on x86_64 or aarch64, for seccomp")

ROOT = Path(no_network.__file__).parents[2]
NETWORKED = {"serve", "replay"}  # under gateway
COMMANDS = {
    "--help": "",
    "demo": "--out demo",
    "inferences": "",
    "datasets": "",
    "protectors": "",
    "init": "walk.csv --useful activity --out new.toml",
    "check": "walk.csv policy.toml",
    "prepare": "walk.csv --out clean.csv",
    "train": "policy.toml --data walk.csv --out new",
    "enrol": "protector walk.csv mine",  # its networks are loaded, and found to have no head
    "protect": "protector walk.parquet out.csv",
    "describe": "protector",
    "export": "protector --out exported",
    "verify": "protector",
    "budget": "spent.sqlite",
    "gateway register": "device watch",
    "gateway token": "admin",
    "gateway list": "",
    "gateway rotate": "phone",
    "gateway revoke": "phone",
    "gateway resume": "phone",
    "gateway confirm-clock": "",
    "gateway events": "",
    "tune": "walk.csv policy.toml --accuracy 0.9 --out tuned",  # the table is read, and has too few recordings
    "audit": "protector --runs 1000 --out audit.png",
    "evaluate": "policy.toml --data walk.csv --out e --quick --jobs 2 --mechanism baseline --epsilon 5",
}
ENDS = {"enrol": 2, "tune": 2}
SMALLER = {
    "demo": """
from functools import partial
from deeprotect.evaluation.runs import demo
demo.DemoPlan = partial(
    demo.DemoPlan,
    epsilons=(5.0,),
    methods=(demo.Method("baseline", "ldp"),),
    holds=(),
    setup=demo.Setup(app="ridge", attackers=("ridge",)),
)
""",
    "export": """
from pathlib import Path
from deeprotect.exporting import targets
targets.FILES = Path("built")  # what npm builds is not asked for here
for name in ("extension/shim.js", "embedded/deeprotect.js"):
    (targets.FILES / name).parent.mkdir(parents=True)
    (targets.FILES / name).touch()
""",
    "budget": """
from deeprotect.release.ledger.database import Database
Database.existing_or_new("spent.sqlite")
""",
    "gateway": """
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.release.ledger.database import Database
registry = Registry(Database.existing_or_new("gateway.sqlite"))
registry.add_device("phone")
registry.halt("phone", stop=True)
""",
}


ONE_LINE = """
import json, sys
from deeprotect.cli import main
sys.argv[1:] = json.loads(sys.argv.pop())
main()
"""


def python(program, *arguments, folder, home):
    """An environment that knows only the home folder, and a folder in it for temporary files."""
    known = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    path = os.pathsep.join([str(ROOT), *sys.path])
    (home / "tmp").mkdir()
    places = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    forbidding = f"from tests.cli import no_network\nno_network.forbid()\n{program}"
    command = [sys.executable, "-c", forbidding, *arguments]
    return subprocess.run(command, cwd=folder, env=known | places, capture_output=True, text=True)


@pytest.fixture
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", autouse=True)
def _filtering(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filter")
    if "takes no filter" in (done := python("", folder=folder, home=folder)).stderr:
        pytest.skip(f"needs a kernel that filters system calls: {done.stderr.splitlines()[-1]}")


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK"])
def test_an_attempt_ends_the_process_and_cannot_be_swallowed(folder, home, family):
    attempt = f"import socket\ntry: socket.socket(socket.{family})\nexcept OSError: pass"
    assert python(attempt, folder=folder, home=home).returncode == -signal.SIGSYS


def test_processes_of_one_machine_may_talk_to_each_other(folder, home):
    assert python("import socket; socket.socket(socket.AF_UNIX)", folder=folder, home=home).returncode == 0


def test_every_verb_is_tried():
    group = typer.main.get_command(app)
    tried = {command.partition(" ")[::2] for command in COMMANDS if command != "--help"}
    assert {name for name, each in group.commands.items() if not each.hidden} == {verb for verb, _ in tried}
    assert set(group.commands["gateway"].commands) - NETWORKED == {under for _, under in tried if under}
    assert set(group.commands["datasets"].commands) == {"fetch"}


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_a_verb_opens_no_socket_and_leaves_the_home_empty(folder, home, command):
    line = json.dumps([*command.split(), *COMMANDS[command].split()])
    done = python(f"{SMALLER.get(command.split()[0], '')}\n{ONE_LINE}", line, folder=folder, home=home)
    assert done.returncode == ENDS.get(command, 0), done.stderr
    assert "Traceback" not in done.stderr
    assert left_in(home) == []


def left_in(home):
    """Files and folders, but for the cache of data sets; under tmp files only, for torch makes a folder there."""
    data, tmp = home / ".cache" / "deeprotect", home / "tmp"
    left = [path for path in home.rglob("*") if path not in data.parents and not path.is_relative_to(data)]
    return [path for path in left if path.is_file() or not path.is_relative_to(tmp)]

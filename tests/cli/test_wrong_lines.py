"""Wrong command lines and wrong policies, kept as data: one line that says what to do, exit code 2, nothing lost."""

import shlex
import tomllib
from pathlib import Path

import pytest
from tests.cli.test_wrong_input import WRONG, snapshot
from tests.cli.test_wrong_tables import TABLES
from tests.conftest import POLICY

HERE = Path(__file__).parent
COMMANDS = tomllib.loads((HERE / "wrong_commands.toml").read_text())["wrong"]
POLICIES = tomllib.loads((HERE.parent / "policy" / "wrong_policies.toml").read_text())["wrong"]


def assert_refused(done, folder, before, says):
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert says in done.stderr
    assert done.stderr.isprintable() or done.stderr[:-1].isprintable()
    assert snapshot(folder) == before
    assert not [path for path in folder.rglob("*") if path.is_dir() and path.name != "protector"]


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: case["line"])
def test_a_wrong_command_line_is_refused_in_one_line(folder, deeprotect, case):
    before = snapshot(folder)
    assert_refused(deeprotect(*shlex.split(case["line"])), folder, before, case["says"])


@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case["name"])
def test_a_wrong_policy_is_refused_in_one_line(folder, deeprotect, case):
    text = case["text"] if "text" in case else POLICY.replace(*case["change"])
    assert text != POLICY
    (folder / "policy.toml").write_text(text)
    before = snapshot(folder)
    assert_refused(deeprotect("check", "walk.csv", "policy.toml"), folder, before, case["says"])


def test_the_policy_and_the_table_are_good_otherwise(folder, deeprotect):
    """Or else the cases above might be refused for another reason."""
    assert deeprotect("check", "walk.csv", "policy.toml").returncode == 0


def test_there_are_five_hundred_and_no_two_alike():
    """Kept as data, each with exit code 2; a few more stand in Python."""
    refused = [case for case in TABLES if case.get("code", 1 if case["verb"] == "check" else 2) == 2]
    assert len(COMMANDS) + len(POLICIES) + len(refused) >= 500
    assert len(WRONG) > 30
    assert len({case["line"] for case in COMMANDS}) == len(COMMANDS)
    assert len({case["name"] for case in POLICIES}) == len(POLICIES)
    assert len({tuple(case.get("change", [case.get("text")])) for case in POLICIES}) == len(POLICIES)

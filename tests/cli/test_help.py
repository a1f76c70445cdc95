"""Help that helps: a summary of every verb in full, an example that can be copied, completion for the shell."""

import re
import shlex

import pyarrow.csv as pa_csv
import pytest
import typer
from tests.conftest import walk
from tests.docs.test_commands import check_options

from deeprotect.cli.app import app

GROUP = typer.main.get_command(app)
VERBS = sorted(name for name, command in GROUP.commands.items() if not command.hidden)


@pytest.mark.parametrize("columns", ["80", "60", "200"])
def test_bare_deeprotect_prints_readable_help_with_every_summary_whole(deeprotect, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    done = deeprotect()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: deeprotect")
    assert done.stdout.count("\n") > 20
    assert "..." not in done.stdout.partition("Commands:")[2]
    assert "…" not in done.stdout.partition("Commands:")[2]
    for verb in VERBS:
        assert re.search(rf"^  {verb} +\S", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_shows_an_example_that_it_would_take(deeprotect, verb):
    done = deeprotect(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    examples = re.findall(r"Example:\s+deeprotect (.+(?:\n +--\S.*)?)", done.stdout)
    assert examples
    for example in examples:
        words = shlex.split(" ".join(example.split()))
        assert words[0] == verb
        check_options("--help", words)


def _examples(verb):
    """As they stand in the program, without the program's own name."""
    found = GROUP.commands[verb]
    texts = [found.help or "", *(each.help or "" for each in getattr(found, "commands", {}).values())]
    return [line.split("deeprotect ", 1)[1] for text in texts for line in text.splitlines() if "  deeprotect " in line]


HERE = ("check", "prepare", "init", "train", "describe", "verify", "audit", "protect", "budget", "inferences", "export")
SMALLER = {"--runs 1000000": "--runs 1000", " --key public.pem": "", "--rate-hz 20 ": "--rate-hz 5 "}
ELSEWHERE = ("--engine spark", "--format")  # needs Java, tests/engines; reads a pipe, test_filter.py


@pytest.mark.long
@pytest.mark.parametrize("verb", HERE)
def test_an_example_runs_as_it_stands(deeprotect, folder, verb):
    """Run on a walk, its policy and a bundle; smaller if it would take minutes, and without a key."""
    deeprotect("protect", "protector", "walk.csv", "earlier.csv", "--ledger", "ledger.sqlite", "--stream", "anna")
    people = ["ann", "bob"] * 100
    pa_csv.write_csv(walk(200).append_column("person", [people]), folder / "walk.csv")
    examples = [each for each in _examples(verb) if not any(other in each for other in ELSEWHERE)]
    assert examples
    for example in examples:
        for large, small in SMALLER.items():
            example = example.replace(large, small)
        exists = ["--force"] if verb in ("init", "train") else []
        done = deeprotect(*shlex.split(example), *exists)
        assert done.returncode == 0, (example, done.stderr)


def test_a_shell_is_told_how_a_line_may_go_on(deeprotect, monkeypatch):
    monkeypatch.setenv("_DEEPROTECT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "deeprotect pr")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = deeprotect()
    assert done.stdout.split() == ["prepare", "protectors", "protect"]


def test_a_script_for_the_shell_can_be_shown(deeprotect, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # a test has no shell around it
    done = deeprotect("--show-completion", "bash")
    assert done.returncode == 0, done.stderr
    assert "complete -o default" in done.stdout

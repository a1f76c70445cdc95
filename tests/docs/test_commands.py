"""Commands quoted in the pages exist, with the options that the pages give them."""

import re
from pathlib import Path

import pytest
import typer

from deeprotect.cli.app import app
from studies.__main__ import app as studies

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {ROOT / "CHANGELOG.md"})  # it tells of the past
# A line of a console block, or a command between backticks that says more than the program's name; what begins with
# name=value is a point of the line protocol, whose measurement is called so.
_COMMAND = re.compile(r"^(?:\$ )?deeprotect (?![\w.]+=)(.+)$|`deeprotect (?![\w.]+=)([^`]+)`", re.MULTILINE)
_STUDY = re.compile(r"^python -m studies (.+)$|`python -m studies ([^`]+)`", re.MULTILINE)
_MAKE = re.compile(r"^make (\w+)|`make (\w+)`", re.MULTILINE)


def _quoted(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    return [
        (page.name, " ".join(next(filter(None, match.groups())).split("#")[0].split()))
        for page in PAGES
        for match in pattern.finditer(page.read_text(encoding="utf-8"))
    ]


def test_the_pages_quote_commands():
    assert len(_quoted(_COMMAND)) > 20
    assert len(_quoted(_STUDY)) > 10
    assert len(_quoted(_MAKE)) > 3


@pytest.mark.parametrize(("page", "line"), sorted(set(_quoted(_COMMAND))))
def test_quoted_commands_exist_with_their_options(page, line):
    check_options(page, line.split())


@pytest.mark.parametrize(("page", "line"), sorted(set(_quoted(_STUDY))))
def test_quoted_studies_exist_with_their_options(page, line):
    check_options(page, line.split(), of=studies)


def check_options(page, words, of=app):
    """The words after the program's name are a command, and options that it has."""
    command, line = typer.main.get_command(of), " ".join(words)
    while words and hasattr(command, "commands"):
        default = command.commands.get("show")  # what `budget LEDGER` does without a verb
        if words[0] not in command.commands and default is not None:
            command = default
        elif words[0].startswith("-"):
            break
        else:
            assert words[0] in command.commands, f"{page}: no such command: {line}"
            command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    strange = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    assert not strange, f"{page}: {line}"


@pytest.mark.parametrize(("page", "target"), sorted(set(_quoted(_MAKE))))
def test_quoted_make_targets_exist(page, target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), page

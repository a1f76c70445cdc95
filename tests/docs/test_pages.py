"""Every page can be reached, every room has one, and the glossary holds words that are used."""

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import typer

import deeprotect
from deeprotect.cli.app import app

ROOT = Path(__file__).parents[2]
NAV = re.findall(r"^ +- [^:#]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def pages():
    """The site's hook, without mkdocs."""
    spec = spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation_once(pages):
    written = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    texts = [target for target in pages.TEXTS.values() if target.endswith(".md")]
    assert sorted(NAV) == sorted([*written, *texts, pages.NOTEBOOK, pages.COMMANDS])


def test_the_page_of_commands_has_every_command_with_every_option_and_its_help(pages):
    text, seen = pages.command_page(), 0
    groups = [("deeprotect", typer.main.get_command(app))]
    while groups:
        name, command = groups.pop()
        groups += [
            (f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items() if not one.hidden
        ]
        if name == "deeprotect":
            continue
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        for parameter in (each for each in command.params if not each.hidden):
            if parameter.name == "help":
                continue
            shown = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar or parameter.name]
            assert [each for each in shown if each and each in section] == shown, (name, parameter.name)
            assert parameter.help, (name, parameter.name)
            seen += 1
    assert seen > 100


def test_every_public_name_is_on_the_api_page():
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^::: deeprotect\.(\w+)$", text, re.MULTILINE))
    assert documented - {"errors"} == {*deeprotect.__all__} - {"__version__", "DeeprotectError"}


def test_the_page_of_the_notebook_has_its_words_its_code_and_its_outputs(pages):
    page = pages.notebook_page()
    assert page.startswith("# Five minutes with DEEProtect")
    assert "Protector.train(policy, watch, quick=True)" in page
    assert "verdict: holds" in page
    assert "data:image/png;base64," in page


def test_every_file_of_every_room_is_on_its_page(pages):
    text = "".join(map(pages.room_page, pages.rooms()))
    files = [path for path in ROOT.glob("src/deeprotect/*/**/*.py") if path.name != "__init__.py"]
    for path in files:
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        assert f"::: {module}\n" in text, module


@pytest.mark.parametrize(
    ("source", "link", "here", "there"),
    [
        ("README.md", "docs/claims.md#the-limit", "first-steps.md", "claims.md#the-limit"),
        ("README.md", "docs/images/pipe.svg", "first-steps.md", "images/pipe.svg"),
        ("docs/index.md", "../README.md", "index.md", "first-steps.md"),
        ("docs/api/index.md", "../claims.md", "api/index.md", "../claims.md"),
        (
            "docs/architecture.md",
            "../src/deeprotect/release/engine.py",
            "architecture.md",
            "api/release.md#deeprotect.release.engine",
        ),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(pages, source, link, here, there):
    assert pages.in_site(source, link, here) == there


def test_headings_that_the_code_names_exist():
    named = {
        match
        for path in ROOT.glob("src/**/*.py")
        for match in re.findall(r"docs/([\w-]+\.md)#([\w-]+)", path.read_text(encoding="utf-8"))
    }
    assert named
    assert not {(page, anchor) for page, anchor in named if anchor not in _anchors(ROOT / "docs" / page)}


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_citation_has_this_licence_and_no_version_to_keep_in_step():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "\nversion:" not in citation
    assert f"\nlicense: {project['license']}\n" in citation


def test_terms_of_the_glossary_are_used_elsewhere():
    glossary = ROOT / "docs" / "glossary.md"
    texts = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md"), *ROOT.glob("*.md")]
    used = " ".join(_plain(path.read_text(encoding="utf-8")) for path in texts if path != glossary)
    terms = re.findall(r"^- \*\*(.+?)\*\*", glossary.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(terms) > 30
    unused = [each for term in terms for each in _plain(term).split(", ") if each not in used]
    assert not unused


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[`\\*]", "", text).replace("_", " ").replace("-", " ").lower().split())

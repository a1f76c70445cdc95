"""Generated pages of the site: the repository's texts, the notebook, the commands, one API page per package."""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # read by tests, too, which run without mkdocs
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deeprotect"
TEXTS = {
    "README.md": "first-steps.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE.txt",
    "CITATION.cff": "CITATION.cff",
}
_LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]*)?\)")
_FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//""")
_CLAIM = re.compile(r"docs/claims\.md#([\w-]+)")


NOTEBOOK, COMMANDS = "five-minutes.md", "commands.md"
_PLAIN_TYPE = re.compile(r" <(?:str|path|list\[\w+\])>")  # says no more than the name before it
_SHOWN = ("image/png", "text/html", "text/plain")  # of an output, the first that it has


def notebook_page() -> str:
    """The notebook with its outputs, as it was run last; tests run it again."""
    cells = json.loads((ROOT / "docs" / NOTEBOOK).with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    whole = "\n\n".join(part for cell in cells for part in _cell(cell))
    return f"{whole}\n\n[The notebook itself](five-minutes.ipynb), to run and change.\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = {name: "".join(value) for name, value in output.get("data", {}).items()}
        kind = next((name for name in _SHOWN if name in data), None)
        if kind == "image/png":
            yield f"![The output of the cell above](data:image/png;base64,{data[kind].strip()})"
        elif kind == "text/html":
            yield re.sub(r"<style.*?</style>|\n\s*", "", data[kind], flags=re.DOTALL)
        else:
            yield f"```text\n{''.join(output.get('text', '')) or data.get('text/plain', '')}\n```"


def command_page() -> str:
    """Every command with its arguments and options, from the program itself."""
    import typer

    from deeprotect.cli.app import app

    program = typer.main.get_command(app)
    parts = [
        "# Commands",
        "Made from the program: what `deeprotect COMMAND --help` prints. Exit codes: 0 done, 1 the work failed or a "
        "promise does not hold, 2 wrong input, 74 the disk failed, 128 + n ended by signal n.",
        *_command(program, "deeprotect"),
    ]
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str) -> Iterator[str]:
    """One command, then those that it groups, in their own order."""
    if name != "deeprotect":
        yield f"## {name}"
        yield "\n\n".join(_paragraph(each) for each in (command.help or "").replace("\b\n", "").split("\n\n"))
        context = command.context_class(command)
        if rows := [_row(each, context) for each in command.params if each.name != "help" and not each.hidden]:
            yield "\n".join(["| | |", "|---|---|", *rows])
    shown = {inner: one for inner, one in getattr(command, "commands", {}).items() if not one.hidden}
    for inner, one in shown.items():
        yield from _command(one, f"{name} {inner}")


def _paragraph(text: str) -> str:
    """An example is a command to copy; all else is running text."""
    example = text.removeprefix("Example:").strip()
    return text if example == text.strip() else f"```console\n{example}\n```"


def _row(parameter: Any, context: Any) -> str:
    """As `--help` prints it."""
    names, words = (each.replace("|", "\\|") for each in parameter.get_help_record(context))
    return f"| `{_PLAIN_TYPE.sub('', names)}` | {words} |"


def rooms() -> list[str]:
    """Folders of the package, so that a room that is moved takes its page along."""
    return sorted(init.parent.name for init in PACKAGE.glob("*/__init__.py"))


def room_page(room: str) -> str:
    """A package's docstring, then its files one by one; subpackages follow."""
    modules = sorted(_module(path) for path in (PACKAGE / room).rglob("*.py"))
    return f"# {room}\n\n" + "\n".join(_directive(module, room) for module in modules)


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _directive(module: str, room: str) -> str:
    """One module for mkdocstrings; what a folder re-exports is shown where it is defined."""
    name = module.removeprefix(f"deeprotect.{room}").lstrip(".")
    folder = (PACKAGE.parent / Path(*module.split("."))).is_dir()
    heading = (
        f"      heading: {name}\n      toc_label: {name}\n"
        if name
        else "      show_root_heading: false\n      show_root_toc_entry: false\n"
    )
    return f"::: {module}\n    options:\n{heading}" + ("      members: false\n" if folder else "")


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Rooms come after the public API, in the last section."""
    (pages,) = (config.nav or [])[-1].values()
    pages += [{room: f"api/{room}.md"} for room in rooms()]
    return config


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    from mkdocs.structure.files import File

    texts = {target: (ROOT / source).read_text(encoding="utf-8") for source, target in TEXTS.items()}
    pages = {f"api/{room}.md": room_page(room) for room in rooms()}
    pages |= {NOTEBOOK: notebook_page(), COMMANDS: command_page()}
    for target, content in (texts | pages).items():
        files.append(File.generated(config, target, content=content))
    return files


def on_page_markdown(markdown: str, page: "Page", **_: object) -> str:
    """Links between the repository's files become links between the site's."""
    here = page.file.src_uri
    source = {target: name for name, target in TEXTS.items()}.get(here, f"docs/{here}")
    return _LINK.sub(lambda link: f"]({in_site(source, link[1] + (link[2] or ''), here)})", markdown)


def in_site(source: str, link: str, here: str) -> str:
    """A link of one file of the repository, as its page `here` has it; what is not on the site fails the build."""
    path, mark, anchor = link.partition("#")
    there = normpath(PurePosixPath(source).parent / path)
    if there == f"docs/{NOTEBOOK.replace('.md', '.ipynb')}":
        there = f"docs/{NOTEBOOK}"
    if there.startswith("src/deeprotect/") and (ROOT / there).is_file():
        module = _module(ROOT / there)
        there, mark, anchor = f"api/{module.split('.')[1]}.md", "#", module
    return relpath(TEXTS.get(there, there.removeprefix("docs/")), PurePosixPath(here).parent) + mark + anchor


def on_page_content(html: str, page: "Page", **_: object) -> str:
    """Docstrings name the claim that a line rests on; on the site they lead to it."""
    if not page.url.startswith("api/"):
        return html
    claims = relpath("claims.html", PurePosixPath(page.url).parent)
    return _CLAIM.sub(rf'<a href="{claims}#\1">docs/claims.md#\1</a>', html)


def on_post_build(config: "MkDocsConfig") -> None:
    """The site must be readable without a network."""
    from mkdocs.exceptions import PluginError

    for page in Path(config.site_dir).rglob("*.html"):
        if _FETCHED.search(page.read_text(encoding="utf-8")):
            raise PluginError(f"{page.name} would fetch something from elsewhere; put it into docs/assets")

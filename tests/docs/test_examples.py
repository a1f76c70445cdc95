"""Examples in docstrings do what they show, wherever their module lives."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE, DOCS = Path(__file__).parents[2] / "src", Path(__file__).parents[2] / "docs"


def _modules() -> list[str]:
    """Modules with an example, found by reading: a file that is moved takes its examples along."""
    files = [path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in files)


@pytest.mark.parametrize("module", _modules())
def test_examples_do_what_they_show(module, bundle, tmp_path, monkeypatch):
    """They find a folder `protector` beside them, as `deeprotect train` leaves one."""
    bundle.save(tmp_path / "protector")
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", [page for page in sorted(DOCS.glob("*.md")) if ">>> " in page.read_text("utf-8")])
def test_examples_of_the_pages_do_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


def test_the_public_classes_have_examples():
    """One error stands for all."""
    import deeprotect

    classes = [each for each in (getattr(deeprotect, name) for name in deeprotect.__all__) if isinstance(each, type)]
    shown = [each for each in classes if not issubclass(each, Exception)]
    for each in (*shown, deeprotect.DeeprotectError):
        assert ">>> " in each.__doc__, each.__name__

"""An export holds the bundle as it is, appears whole or not at all, and never takes the place of something else."""

import base64
import json
import re

import pytest
from tests.device.small_bundles import small_bundle
from typer.testing import CliRunner

from deeprotect.bundle import Bundle
from deeprotect.cli.app import app
from deeprotect.errors import BundleError, InputError
from deeprotect.exporting import browser
from deeprotect.exporting.browser import export_browser


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Stands for what npm builds: these tests are about the folder, not about what is in it."""
    for part, name in (("extension", "shim.js"), ("extension", "manifest.json"), ("embedded", "deeprotect.js")):
        (tmp_path / "files" / part).mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / part / name).write_text("use(deeprotectBundle);\n")
    monkeypatch.setattr(browser, "FILES", tmp_path / "files")


@pytest.fixture
def bundle():
    return small_bundle("channel ldp")


def test_the_extension_holds_the_bundle_as_it_is(built, bundle, tmp_path):
    exported = export_browser(bundle, tmp_path / "out")
    again = tmp_path / "again"
    again.mkdir()
    for name in ("manifest.json", "tensors.safetensors"):
        (again / name).write_bytes((exported.extension / "bundle" / name).read_bytes())
    assert Bundle.load(again).manifest == bundle.manifest
    places = json.loads((exported.extension / "bundle" / "platform.json").read_text())
    assert [place["axis"] for place in places] == [0, 1, 2]


def test_the_script_holds_the_bundle_and_ends_no_page(built, bundle, tmp_path):
    text = export_browser(bundle, tmp_path / "out").script.read_text()
    stated = json.loads(re.search(r"const deeprotectBundle = (.*);", text)[1])
    assert stated["manifest"].encode() == bundle.manifest.to_json()
    assert base64.b64decode(stated["tensors"]) == bundle.files["tensors.safetensors"]
    assert "</" not in text


def test_an_export_is_replaced_and_nothing_else_is(built, bundle, tmp_path):
    export_browser(bundle, tmp_path / "out")
    export_browser(bundle, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is no export"):
        export_browser(bundle, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_without_the_built_files_one_line_says_how_to_build_them(bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "FILES", tmp_path / "nothing")
    with pytest.raises(InputError, match="make browser"):
        export_browser(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_mechanism_that_the_browser_cannot_check_is_refused(built, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "RUNS", ())
    with pytest.raises(BundleError, match="cannot be checked in a browser"):
        export_browser(bundle, tmp_path / "out")


def test_the_verb_says_where_the_parts_are(built, bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    command = ["export", str(tmp_path / "bundle"), "--target", "browser", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert str(tmp_path / "out" / "extension") in done.output


def test_the_verb_replaces_an_earlier_export_when_asked_to_and_nothing_else(built, bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")

    def said(name, *more):
        done = CliRunner().invoke(app, ["export", str(tmp_path / "bundle"), "--out", str(tmp_path / name), *more])
        return done.exit_code, str(done.exception or "")

    assert said("out")[0] == 0
    assert "--force" in said("out")[1]
    assert said("out", "--force")[0] == 0
    assert "is no export" in said("mine", "--force")[1]
    assert "not a folder" in said("file", "--force")[1]
    assert "is the input" in said("bundle", "--force")[1]
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_another_target_is_refused(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    done = CliRunner().invoke(app, ["export", str(tmp_path / "bundle"), "--target", "toaster"])
    assert done.exit_code == 2

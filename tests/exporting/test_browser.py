"""An export for browsers holds the protector, appears whole or not at all, and never replaces something else."""

import json
import re

import pytest
from tests.device.small_bundles import small_bundle
from typer.testing import CliRunner

from deeprotect.cli.app import app
from deeprotect.cli.wording import wording
from deeprotect.errors import DeeprotectError, InputError
from deeprotect.exporting.protector_file import ProtectorFile
from deeprotect.exporting.targets import export_browser


@pytest.fixture
def bundle():
    return small_bundle("channel ldp")


def test_the_extension_holds_the_protector(bundle, tmp_path):
    export_browser(bundle, tmp_path / "out")
    extension = tmp_path / "out" / "extension"
    assert (extension / "bundle" / "protector.json").read_text() == ProtectorFile.of(bundle).text
    assert {"shim.js", "worker.js", "manifest.json"} <= {path.name for path in extension.iterdir()}


def test_the_script_holds_the_protector_and_ends_no_page(bundle, tmp_path):
    export_browser(bundle, tmp_path / "out")
    text = (tmp_path / "out" / "embedded" / "deeprotect.js").read_text()
    stated = re.search(r"const deeprotectBundle = (.*);\n", text)[1]
    assert json.loads(stated) == json.loads(ProtectorFile.of(bundle).text)
    assert "</" not in text


def test_an_export_is_replaced_and_nothing_else_is(bundle, tmp_path):
    export_browser(bundle, tmp_path / "out")
    export_browser(bundle, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is not an export"):
        export_browser(bundle, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_the_verb_says_where_the_parts_are(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    command = ["export", str(tmp_path / "bundle"), "--target", "browser", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert str(tmp_path / "out" / "extension") in done.output


def test_the_verb_replaces_an_earlier_export_when_asked_to_and_nothing_else(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")

    def said(name, *more):
        done = CliRunner().invoke(app, ["export", str(tmp_path / "bundle"), "--out", str(tmp_path / name), *more])
        return done.exit_code, wording(done.exception) if isinstance(done.exception, DeeprotectError) else ""

    assert said("out")[0] == 0
    assert "--force" in said("out")[1]
    assert said("out", "--force")[0] == 0
    assert "is not an export" in said("mine", "--force")[1]
    assert "not a folder" in said("file", "--force")[1]
    assert "is the input" in said("bundle", "--force")[1]
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_another_target_is_refused(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    done = CliRunner().invoke(app, ["export", str(tmp_path / "bundle"), "--target", "toaster"])
    assert done.exit_code == 2

"""The cost of a protector is measured against a stream without one, and no figure is made up."""

import json

import pytest
from tests.device.engines import ENGINES
from tests.device.small_bundles import small_bundle
from tests.device.test_node import built  # noqa: F401
from tests.node_packages import lack
from typer.testing import CliRunner

from studies.__main__ import app
from studies.benchmark import device, device_engines
from studies.benchmark.overhead import paper


@pytest.fixture
def path(tmp_path):
    small_bundle("channel ldp").save(tmp_path / "bundle")
    return tmp_path / "bundle"


def test_python_is_measured_with_and_without(path):
    found = {each.what: each for each in device.python(path, small_bundle("channel ldp"), seconds=2)}
    processor = found["processor time of a second of the stream"]
    assert processor.on > 0
    assert processor.added == processor.on - processor.off
    battery = next(each for what, each in found.items() if "estimated" in what)
    assert battery.on == pytest.approx(processor.on * 2.5 / 3.8)
    assert found["delay by design"].on == 200  # four samples at 20 Hz


def test_without_a_clone_the_browser_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "OVERHEAD", tmp_path / "nothing.mjs")
    assert list(device.browser(small_bundle("channel ldp"), seconds=1)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_measured_with_and_without(name, built, monkeypatch):  # noqa: F811
    if not ENGINES[name].program.is_there:
        lack(f"{name} is missing: {ENGINES[name].program.missing}")
    monkeypatch.setattr(device_engines, "ENGINES", {name: ENGINES[name].program})
    found = {each.what: each for each in device_engines.engines(small_bundle("channel ldp"), seconds=20)}
    assert {each.place for each in found.values()} == {name}
    assert found["processor time of a second of the stream"].unit == "%"
    assert found["time to release a window"].on > 0
    assert found["memory of the process, at most"].on > 1


def test_the_papers_figures_stand_beside_ours():
    assert {(each.what.split()[0], each.on, each.unit) for each in paper()} == {
        ("processor", 3.8, "%"),
        ("memory", 0.6, "MB"),
        ("battery", 2.5, "%"),
    }


def test_the_verb_prints_figures(path, monkeypatch):
    monkeypatch.setattr(device, "browser", lambda *_, **__: iter(()))
    monkeypatch.setattr(device, "engines", lambda *_, **__: iter(()))
    monkeypatch.setattr(device, "SECONDS", 1)
    done = CliRunner().invoke(app, ["bench", "device", str(path), "--json"])
    assert {each["place"] for each in json.loads(done.stdout)["overheads"]} == {"Python", "paper's phone"}
    assert "left out: the browser" in done.stderr
    assert "left out: Hermes (npm ci in device/" in done.stderr


def test_the_verb_asks_for_a_bundle():
    done = CliRunner().invoke(app, ["bench", "device"])
    assert "needs a bundle" in str(done.exception)

"""Whatever is dropped from a manifest, retyped or nested: one clear line, and never a fault of ours."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.privacy.edited import edited
from typer.testing import CliRunner

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.manifest import DEEPEST_NESTING, digest
from deeprotect.bundle.verification.verify import verify
from deeprotect.cli.app import app
from deeprotect.errors import BundleError, DeeprotectError

NESTED = json.loads("[" * (DEEPEST_NESTING - 8) + "]" * (DEEPEST_NESTING - 8))
VALUES = {"dropped": ..., "nothing": None, "text": "x", "number": -1.5, "list": [], "object": {}, "nested": NESTED}


def places(value, at=()) -> Iterator[tuple]:
    """Of every key at every depth; of a list, its first and last entry."""
    if at:
        yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list):
        for place in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[place], (*at, place))


@pytest.mark.long
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("kind", ["channel ldp", "laplace pca", "channel rldp"])
def test_no_change_of_a_manifest_is_a_fault_of_ours(made, tmp_path, kind, value):
    made(kind).save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    body = json.loads(path.read_text())
    body.pop("digest")
    for place in places(body):
        changed = edited(body, place, value)
        path.write_text(json.dumps({**changed, "digest": digest(changed)}))
        for use in (lambda: card(Bundle.load(path.parent)), lambda: str(verify(path.parent))):
            with suppress(DeeprotectError):
                assert use()


@pytest.mark.parametrize("entry", ["ldp_epsilon", "assumes", "neighbours", "noise", "guarantee"])
def test_a_certificate_that_lacks_an_entry_is_a_step_that_fails(made, tmp_path, entry):
    made("channel ldp").save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    body = json.loads(path.read_text())
    body.pop("digest")
    del body["certificate"][entry]
    path.write_text(json.dumps({**body, "digest": digest(body)}))
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "bundle")])
    assert done.exit_code == 1
    assert f"does not follow from the mechanism's own numbers: “{entry}”" in done.stdout
    with pytest.raises(BundleError, match=f"“{entry}”"):
        Bundle.load(tmp_path / "bundle")


def test_nesting_of_any_depth_is_refused_in_one_line(made, tmp_path):
    """Some depth is just shallow enough to be parsed and too deep to be written again; which, the caller decides."""
    made("laplace").save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    before, after = path.read_text().split('"certificate": {', 1)
    for depth in (DEEPEST_NESTING, 500, *range(700, 1010), 5000, 100_000):
        path.write_text(f'{before}"certificate": {{"x": {"[" * depth}{"]" * depth}, {after}')
        for use in (Bundle.load, verify):
            with pytest.raises(BundleError, match=r"nested deeper|not valid JSON"):
                use(tmp_path / "bundle")

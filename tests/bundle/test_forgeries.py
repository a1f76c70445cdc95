"""Bundles that look whole and are not: every one of them is refused."""

import json
from functools import cache

import pytest
from tests.bundle.forgeries import CHANGES, GARBLED, KIND
from tests.device.small_bundles import small_bundle

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.manifest import digest
from deeprotect.bundle.store import MANIFEST
from deeprotect.errors import BundleError


@cache
def whole():
    return small_bundle(KIND)


@pytest.mark.parametrize(("place", "value"), CHANGES, ids=[f"{p} {str(v)[:20]}" for p, v in CHANGES])
def test_forged_bundles_are_refused(place, value, tmp_path):
    body = json.loads(whole().manifest.to_json())
    del body["digest"]
    *parents, last = place.split("/")
    inner = body
    for parent in parents:
        inner = inner[int(parent)] if isinstance(inner, list) else inner[parent]
    inner[int(last) if isinstance(inner, list) else last] = value
    assert_refused(json.dumps({**body, "digest": digest(body)}), tmp_path)


@pytest.mark.parametrize(("find", "instead"), GARBLED, ids=range(len(GARBLED)))
def test_garbled_bundles_are_refused(find, instead, tmp_path):
    text = whole().manifest.to_json().decode()
    assert find in text
    assert_refused(text.replace(find, instead, 1), tmp_path)


def assert_refused(text, folder):
    (folder / MANIFEST).write_text(text)
    (folder / TENSORS).write_bytes(whole().files[TENSORS])
    with pytest.raises(BundleError):
        Bundle.load(folder)

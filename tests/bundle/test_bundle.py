import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from tests.networks import affine

from deeprotect.bundle import Bundle, network
from deeprotect.bundle.manifest import digest
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError
from deeprotect.privacy.mechanisms import laplace

FILES = ("manifest.json", "tensors.safetensors")


@pytest.fixture(params=["protector", "protector.zip"])
def saved(bundle, tmp_path, request):
    path = tmp_path / request.param
    bundle.save(path)
    return path


def change(path, name, edit):
    """Rewrite one file of a saved bundle."""
    if path.is_dir():
        (path / name).write_bytes(edit((path / name).read_bytes()))
        return
    with zipfile.ZipFile(path) as archive:
        files = {each: archive.read(each) for each in archive.namelist()}
    files[name] = edit(files[name])
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in files.items():
            archive.writestr(each, content)


def edited(**changes):
    """An edit of the manifest that also mends its digest: a careful forger."""

    def edit(content):
        body = json.loads(content)
        body.pop("digest")
        for place, value in changes.items():
            *parents, last = place.split("__")
            inner = body
            for parent in parents:
                inner = inner[parent]
            inner[last] = value
        return json.dumps({**body, "digest": digest(body)}).encode()

    return edit


def test_a_saved_bundle_comes_back_the_same(bundle, saved):
    loaded = Bundle.load(saved)
    assert loaded.manifest == bundle.manifest
    assert loaded.files == bundle.files


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_anywhere_is_refused(saved, name):
    size = len(zipfile.ZipFile(saved).read(name)) if saved.is_file() else (saved / name).stat().st_size
    for position in (0, size // 3, size - 2):
        change(saved, name, lambda content, at=position: flip(content, at))
        with pytest.raises(BundleError):
            Bundle.load(saved)
        change(saved, name, lambda content, at=position: flip(content, at))
    Bundle.load(saved)


def flip(content, position):
    return content[:position] + bytes([content[position] ^ 0x15]) + content[position + 1 :]


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_refused(saved, name):
    change(saved, name, lambda content: content[: len(content) // 2])
    with pytest.raises(BundleError):
        Bundle.load(saved)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused_by_name(bundle, tmp_path, name):
    bundle.save(tmp_path / "protector")
    (tmp_path / "protector" / name).unlink()
    with pytest.raises(BundleError, match=f"{name} is missing"):
        Bundle.load(tmp_path / "protector")


def test_a_truncated_zip_is_refused(bundle, tmp_path):
    path = tmp_path / "protector.zip"
    bundle.save(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BundleError, match="not a whole zip"):
        Bundle.load(path)


def test_a_newer_bundle_is_refused_with_the_reason(saved):
    change(saved, "manifest.json", edited(version=5))
    with pytest.raises(BundleError, match=r"version 5 is newer .* upgrade"):
        Bundle.load(saved)


def test_a_foreign_folder_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text('{"format": "something else"}')
    with pytest.raises(BundleError, match="not a DEEProtect bundle"):
        Bundle.load(tmp_path)


def test_an_edited_epsilon_is_refused_even_when_the_digest_is_mended(saved):
    change(saved, "manifest.json", edited(mechanism__event__epsilon=0.5))
    with pytest.raises(BundleError, match="epsilon"):
        Bundle.load(saved)


def test_a_policy_that_promises_more_than_the_mechanism_keeps_is_refused(saved):
    change(saved, "manifest.json", edited(policy__privacy__epsilon=0.5))
    with pytest.raises(BundleError, match=r"spends ε = 5, more than the policy's 0\.5"):
        Bundle.load(saved)


def test_a_certificate_that_does_not_follow_is_refused(saved):
    change(saved, "manifest.json", edited(certificate__derived_epsilon=0.1))
    with pytest.raises(BundleError, match="does not follow"):
        Bundle.load(saved)


def test_networks_that_do_not_fit_the_windows_are_refused(policy, bundle):
    with pytest.raises(BundleError, match="shapes"):
        Bundle.make(
            policy,
            laplace.baseline(8, 5.0),
            encoder=affine(np.ones((8, 5))),
            decoder=Network((), 8),
            feature_extractor={"name": "none"},
            training=bundle.manifest.training,
            results=[],
            created="2026-01-01T00:00:00+00:00",
            made_with={},
        )


def test_a_name_that_points_outside_the_bundle_is_refused(saved):
    change(saved, "manifest.json", edited(files={"../secret": {"sha256": "0" * 64, "size": 0}}))
    with pytest.raises(BundleError, match="one file beside its manifest"):
        Bundle.load(saved)


def test_nothing_is_overwritten_that_is_not_a_bundle(bundle, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    with pytest.raises(BundleError, match="not a bundle"):
        bundle.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"


def test_nothing_of_somebody_elses_is_removed_with_an_old_bundle(bundle, tmp_path):
    bundle.save(tmp_path / "protector")
    (tmp_path / "protector" / "notes.txt").write_text("years of work")
    with pytest.raises(BundleError, match="not a bundle"):
        bundle.save(tmp_path / "protector")
    assert (tmp_path / "protector" / "notes.txt").read_text() == "years of work"


def test_a_bundle_is_replaced_whole(bundle, saved):
    bundle.save(saved)
    assert Bundle.load(saved).manifest == bundle.manifest
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_encode_and_decode_keep_the_shape_of_windows(bundle):
    windows = np.random.default_rng(0).uniform(size=(9000, 4, 2))
    released = bundle.schema.scale(bundle.decode(bundle.encode(windows)))
    assert np.allclose(released, windows, atol=0.51 * 0.001 / 8)  # the resolution of one channel
    assert bundle.encode(windows[:0]).shape == (0, 8)


def test_a_network_leaves_the_number_of_threads_as_it_was(monkeypatch):
    libraries = [Library(1), Library(4)]
    monkeypatch.setattr(network, "_blas", lambda: [(each.get, each.set) for each in libraries])
    with suppress(RuntimeError), network.one_thread():
        assert [each.threads for each in libraries] == [1, 1]
        raise RuntimeError
    assert [each.threads for each in libraries] == [1, 4]


class Library:
    def __init__(self, threads):
        self.threads = threads

    def get(self):
        return self.threads

    def set(self, threads):
        self.threads = threads


def test_whichever_thread_runs_a_network_numpy_multiplies_in_one_thread():
    """threadpoolctl 3.8 lets the first thread alone set the number."""
    with network.one_thread():
        pass
    libraries = network._blas()
    before = [get() for get, _ in libraries]
    try:
        for _, set_threads in libraries:
            set_threads(2)
        with ThreadPoolExecutor(1) as other:
            inside, after = other.submit(_inside).result(), [get() for get, _ in libraries]
    finally:
        for (_, set_threads), threads in zip(libraries, before, strict=True):
            set_threads(threads)
    assert inside == [1] * len(libraries)
    assert after == [2] * len(libraries)


def _inside():
    with network.one_thread():
        return [get() for get, _ in network._blas()]

"""No release can be made to repeat itself: not by its caller, its bundle, or the environment it runs in."""

import inspect
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import walk

import deeprotect
from deeprotect import Protector
from deeprotect.bundle import Bundle
from deeprotect.bundle.manifest import digest
from deeprotect.errors import BundleError, EntropyError
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.tables import released

PACKAGE = Path(deeprotect.__file__).parent
RELEASING = ("signals", "privacy", "policy", "bundle", "release", "protector", "cli")


class Subclass(SystemEntropy):
    def words(self, count):
        return np.zeros(count, dtype=np.uint64)


class Renamed:
    """Claims to be another class, to whoever asks with isinstance."""

    __class__ = SystemEntropy

    def words(self, count):
        return np.zeros(count, dtype=np.uint64)


@pytest.mark.parametrize("entropy", [SeededEntropy(0), Subclass(), Renamed()])
def test_a_table_is_refused_before_anything_is_charged_or_written(bundle, table, entropy):
    ledger, taken = MemoryLedger(Price.of(bundle.mechanism)), []
    with (
        pytest.raises(EntropyError),
        released(table, bundle, mapping={}, ledger=ledger, entropy=entropy) as tables,
    ):
        taken.extend(tables)
    assert not taken
    assert ledger.spending.draws == 0


def test_two_releases_of_one_table_differ_whatever_seeds_are_set(bundle, monkeypatch):
    released = []
    for _ in range(2):
        for name in ("DEEPROTECT_SEED", "DEEPROTECT_ENTROPY", "DEEPROTECT_TEST", "PYTHONHASHSEED", "SEED"):
            monkeypatch.setenv(name, "0")
        random.seed(0)
        np.random.seed(0)
        released.append(Protector(bundle).protect(walk(40)).table["acc_y"].to_numpy())
    assert (released[0] != released[1]).any()


def forge(folder, place):
    """A seed in the manifest, with the digest mended."""
    path = folder / "manifest.json"
    body = json.loads(path.read_text())
    body.pop("digest")
    inner = body[place] if place else body
    inner |= {"seed": 0, "entropy": "SeededEntropy"}
    path.write_text(json.dumps({**body, "digest": digest(body)}))


@pytest.mark.parametrize("place", ["", "policy", "certificate"])
def test_a_bundle_that_names_a_seed_is_refused(bundle, tmp_path, place):
    bundle.save(tmp_path / "protector")
    forge(tmp_path / "protector", place)
    with pytest.raises(BundleError):
        Bundle.load(tmp_path / "protector")


def test_a_mechanism_that_names_a_seed_draws_fresh_noise_all_the_same(bundle, tmp_path):
    bundle.save(tmp_path / "protector")
    forge(tmp_path / "protector", "mechanism")
    first, second = (
        Protector.load(tmp_path / "protector").protect(walk(40)).table["acc_y"].to_numpy() for _ in range(2)
    )
    assert (first != second).any()


def test_neither_the_loader_nor_the_protector_takes_entropy():
    for verb in (Bundle.load, Bundle.make, Protector.load, Protector.train, Protector.protect):
        assert not re.search("entropy|seed|random", " ".join(inspect.signature(verb).parameters)), verb


def test_no_part_that_releases_names_seeded_entropy_or_reads_the_environment():
    files = [file for room in RELEASING for file in (PACKAGE / room).rglob("*.py")]
    assert len(files) > 30
    for file in files:
        names = set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
        assert not names & {"environ", "getenv"}, file
        if file.parent.name != "privacy":
            assert "SeededEntropy" not in names, file


APART = ("--no-site-packages", "--ignore-missing-imports")  # without numpy's types it takes a tenth of the time
SNIPPET = """
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.release.engine import Pipeline, Request, simulate, release, stream
from deeprotect.release.ledger import Ledger

def use(bundle: Pipeline, ledger: Ledger, requests: list[Request]) -> None:
    stream([], bundle, ledger=ledger, entropy=SystemEntropy())
    stream([], bundle, ledger=ledger, entropy=SeededEntropy(0))
    release(requests, entropy=SystemEntropy())
    release(requests, entropy=SeededEntropy(0))
    simulate(requests, entropy=SeededEntropy(0))
"""


def test_the_type_checker_refuses_a_release_with_seeded_entropy(tmp_path):
    pytest.importorskip("mypy", reason="needs mypy; install deeprotect[dev]")
    (tmp_path / "snippet.py").write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *APART, "snippet.py"]
    environment = {"MYPYPATH": str(PACKAGE.parent), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert re.findall(r"snippet\.py:(\d+): error: .*\[(.*)\]", done.stdout) == [
        ("8", "arg-type"),
        ("10", "arg-type"),
    ], done.stdout

"""Whole tables with a ledger: the same table is the same release, any other table is another."""

import io
import shutil
import subprocess
import sys

import numpy as np
import pyarrow.csv as pa_csv
import pytest
from tests.conftest import walk

from deeprotect import Protector
from deeprotect.errors import BudgetError, DeeprotectError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.summing import statement

WINDOWS = 6  # of walk(23): 12 rows and 11 rows in windows of 4


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


@pytest.fixture
def release(protector, address, tmp_path):
    """What a table released to a ledger of its own becomes, and what was charged for it."""

    def released(source, *, by=protector, **who):
        ledger = by.ledger(address, **{"stream": "walk"} | who)
        summary = by.protect_file(source, tmp_path / "out.csv", ledger=ledger)
        return (tmp_path / "out.csv").read_bytes(), summary.draws.charged

    return released


def write(table, path):
    pa_csv.write_csv(table, path)
    return path


def test_the_same_file_gives_the_same_bytes_for_nothing(release, tmp_path):
    source = write(walk(23), tmp_path / "in.csv")
    first, again = release(source), release(source)
    assert (first[1], again[1]) == (WINDOWS, 0)
    assert first[0] == again[0]


def test_a_file_is_known_by_its_content_and_not_by_its_name(release, tmp_path):
    source = write(walk(23), tmp_path / "in.csv")
    first = release(source)
    copied = release(shutil.copy(source, tmp_path / "copy.csv"))
    assert (copied[0] == first[0], copied[1]) == (True, 0)
    tomorrow = release(write(walk(24), source))  # the same name and the same recordings, other samples
    assert tomorrow[1] == WINDOWS
    assert tomorrow[0].splitlines()[1:12] != first[0].splitlines()[1:12]


@pytest.mark.parametrize("other", [{"app": "maps"}, {"stream": "run"}])
def test_another_app_or_stream_gets_a_draw_of_its_own(release, tmp_path, other):
    source = write(walk(23), tmp_path / "in.csv")
    first, second = release(source), release(source, **other)
    assert second[1] == WINDOWS
    assert first[0] != second[0]


def test_frames_and_standard_input_have_no_name_and_are_charged_each_time(protector, release, address, monkeypatch):
    ledger = protector.ledger(address, stream="frames")
    first, second = (protector.protect(walk(23), ledger=ledger) for _ in range(2))
    assert not first.equals(second)
    held = io.BytesIO()
    pa_csv.write_csv(walk(23), held)
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(held.getvalue())))
        assert release("-", stream="piped")[1] == WINDOWS
    people = {person.name: person.draws for person in statement(Database.existing(address)).people}
    assert people == {"frames": 2 * WINDOWS, "piped": 2 * WINDOWS}


def test_a_release_that_failed_half_way_is_paid_once(protector, release, address, tmp_path, monkeypatch):
    source = write(walk(100_000, recordings=1), tmp_path / "in.csv")
    decode, calls = type(protector.bundle).decode, []

    def failing(self, noisy_code):
        calls.append(len(noisy_code))
        if len(calls) == 2:
            raise DeeprotectError("planted")
        return decode(self, noisy_code)

    with monkeypatch.context() as patch:
        patch.setattr(type(protector.bundle), "decode", failing)
        with pytest.raises(DeeprotectError, match="planted"):
            release(source)
    assert not (tmp_path / "out.csv").exists()
    _, charged = release(source)
    assert charged == 25_000 - sum(calls) > 0
    assert statement(Database.existing(address)).people[0].draws == 25_000


def limited(bundle, **budget):
    """The same protector under a policy with a budget."""
    policy = bundle.policy.vary(privacy={"budget": budget})
    manifest = bundle.manifest.model_copy(update={"policy": policy.to_json()})
    return Protector(type(bundle)(manifest, bundle.files).checked("test"))


def test_the_card_tells_the_limits(bundle):
    said = limited(bundle, per_hour=50.0, in_all=900.5, when_spent="placeholder").describe()
    assert "- With a ledger, at most ε = 50 per hour, 900.5 in all for one person; what goes beyond is drawn" in said
    assert "ledger" not in Protector(bundle).describe()


def test_a_policys_budget_is_kept_over_runs(bundle, release, tmp_path):
    protector = limited(bundle, in_all=35.0)
    source = write(walk(23), tmp_path / "in.csv")
    assert release(source, by=protector)[1] == WINDOWS
    with pytest.raises(BudgetError, match=r"spent ε = 30 of in_all = 35; 6 draws ask for 30, and 5 is left"):
        release(write(walk(24), tmp_path / "more.csv"), by=protector)
    assert release(source, by=protector)[1] == 0  # it is the same release


def test_without_a_ledger_a_budget_is_kept_within_the_run(bundle):
    with pytest.raises(BudgetError, match="'this run' has spent ε = 0 of in_all = 10"):
        limited(bundle, in_all=10.0).protect(walk(23))


def test_placeholders_have_the_form_of_any_release(bundle, address, tmp_path):
    protector = limited(bundle, in_all=10.0, when_spent="placeholder")
    ledger = protector.ledger(address, stream="walk")
    summary = protector.protect_file(write(walk(23), tmp_path / "in.csv"), tmp_path / "out.csv", ledger=ledger)
    released = pa_csv.read_csv(tmp_path / "out.csv")
    assert (summary.draws.charged, summary.draws.placeholders, summary.spending.per_stream) == (2, 4, 10)
    assert (released.num_rows, released.column_names) == (23, ["time", "acc_x", "acc_y", "recording"])
    assert np.abs(released["acc_x"].to_numpy()).max() <= 4


KILLED = """
import os, signal, sys
from deeprotect import Protector
from deeprotect.release.ledger.stored import StoredLedger
protector, source, sink, ledger = Protector.load(sys.argv[1]), *sys.argv[2:]
record, calls = StoredLedger.record, []
def dying(self, runs, drawn):
    kept = record(self, runs, drawn)
    calls.append(kept)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return kept
StoredLedger.record = dying
protector.protect_file(source, sink, ledger=protector.ledger(ledger, stream="walk"))
"""


def test_a_release_that_is_killed_leaves_nothing_but_its_charges(bundle, protector, tmp_path):
    source, ledger = write(walk(100_000, recordings=1), tmp_path / "in.csv"), tmp_path / "ledger.db"
    bundle.save(tmp_path / "protector")
    command = [sys.executable, "-c", KILLED, tmp_path / "protector", source, tmp_path / "out.csv", ledger]
    assert subprocess.run(command, check=False).returncode == -9
    assert not (tmp_path / "out.csv").exists()
    before = statement(Database.existing(str(ledger))).people[0].draws
    summary = protector.protect_file(source, tmp_path / "out.csv", ledger=protector.ledger(ledger, stream="walk"))
    assert 0 < before == summary.draws.repeated
    assert statement(Database.existing(str(ledger))).people[0].draws == 25_000

"""Whole tables with a ledger: the same table is the same release, any other table is another."""

import io
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pyarrow.csv as pa_csv
import pytest
from tests.conftest import walk
from tests.mutations import protectors

from deeprotect import Protector
from deeprotect.cli.budget import remembered
from deeprotect.errors import BudgetError, DeeprotectError, ReleasedBeforeError
from deeprotect.privacy.channel.design import design, make
from deeprotect.release import engine
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.archive import archive_charges, forget_draws
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.statement import statement
from deeprotect.release.ledger.stored import StoredLedger

CODES = protectors.CODES
WINDOWS = 6  # of walk(23): 12 rows and 11 rows in windows of 4


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


@pytest.fixture
def release(protector, address, tmp_path):
    """What a table released to a ledger of its own becomes, and what was charged for it."""

    def released(source, *, by=protector, **who):
        ledger = by.ledger(address, **{"stream": "walk"} | who)
        summary = by.protect(source, tmp_path / "out.csv", ledger=ledger, force=True)
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
    first, second = (protector.protect(walk(23), ledger=ledger).table for _ in range(2))
    assert not first.equals(second)
    held = io.BytesIO()
    pa_csv.write_csv(walk(23), held)
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(held.getvalue())))
        assert release("-", stream="piped")[1] == WINDOWS
    people = {person.name: person.draws for person in statement(Database.existing(address)).people}
    assert people == {"frames": 2 * WINDOWS, "piped": 2 * WINDOWS}


@pytest.mark.long
def test_a_release_that_failed_half_way_is_paid_once(protector, release, address, tmp_path, monkeypatch):
    source = write(walk(200_000, recordings=1), tmp_path / "in.csv")
    decode, calls = engine._decode, []

    def failing(requests, kept, paid):
        calls.append(sum(map(len, kept)))
        if len(calls) == 2:
            raise DeeprotectError("planted")
        return decode(requests, kept, paid)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "_decode", failing)
        with pytest.raises(DeeprotectError, match="planted"):
            release(source)
    assert not (tmp_path / "out.csv").exists()
    _, charged = release(source)
    assert charged == 50_000 - sum(calls) > 0
    assert statement(Database.existing(address)).people[0].draws == 50_000


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
    with pytest.raises(BudgetError, match=r"spent ε = 30 of in_all = 35; 6 draws would cost ε = 30; ε = 5 remains"):
        release(write(walk(24), tmp_path / "more.csv"), by=protector)
    assert release(source, by=protector)[1] == 0  # it is the same release


def test_without_a_ledger_a_budget_is_kept_within_the_run(bundle):
    with pytest.raises(BudgetError, match="'this run' has spent ε = 0 of in_all = 10"):
        limited(bundle, in_all=10.0).protect(walk(23))


def test_placeholders_have_the_form_of_any_release(bundle, address, tmp_path):
    protector = limited(bundle, in_all=10.0, when_spent="placeholder")
    ledger = protector.ledger(address, stream="walk")
    summary = protector.protect(write(walk(23), tmp_path / "in.csv"), tmp_path / "out.csv", ledger=ledger)
    released = pa_csv.read_csv(tmp_path / "out.csv")
    assert (summary.draws.charged, summary.draws.placeholders, summary.cost.per_stream) == (2, 4, 10)
    assert (released.num_rows, released.column_names) == (23, ["time", "acc_x", "acc_y", "recording"])
    assert np.abs(released["acc_x"].to_numpy()).max() <= 4


@pytest.fixture
def held():
    """Randomised response once for six windows, each of which shows one of five variants of the output."""
    channel = make(design(1.0 - np.eye(CODES), np.ones(CODES), ldp_epsilon=2.0), variants=5)
    episode = replace(channel, event=replace(channel.event, per="episode"))
    windows = np.random.default_rng(0).uniform(size=(5 * CODES, CODES))
    return Protector(protectors.bundle(episode, CODES, **protectors.code_book(CODES, windows)))


def test_a_held_draw_is_charged_once_and_its_windows_come_back_the_same(held, release, tmp_path):
    rows = 10 * protectors.HELD * CODES + 9  # the last episode has three windows, and the last of them one row
    source = write(protectors.table(rows), tmp_path / "in.csv")
    first, again = release(source, by=held), release(source, by=held)
    assert (first[1], again[1]) == (11, 0)
    assert first[0] == again[0]
    samples = pa_csv.read_csv(tmp_path / "out.csv")["acc_x"].to_numpy()[: 10 * protectors.HELD * CODES]
    assert len(np.unique(samples.reshape(-1, CODES), axis=0)) > CODES  # variants are shown, and were kept


def test_a_live_stream_is_charged_draw_by_draw_and_never_repeats_itself(held, address):
    rows = np.zeros((3 * protectors.HELD * CODES, 1))
    released = []
    for _ in range(2):
        live = held.stream(ledger=held.ledger(address, stream="live"))
        released.append(np.concatenate([live.push(rows), live.finish()]))
        assert live.cost.draws == 3
    assert (released[0] != released[1]).any()
    assert statement(Database.existing(address)).people[0].draws == 6


def test_a_live_stream_goes_on_with_placeholders(address):
    held = limited(protectors.held(), in_all=4.0, when_spent="placeholder")
    live = held.stream(ledger=held.ledger(address, stream="live"))
    assert len(live.push(np.zeros((5 * protectors.HELD * CODES, 1)))) == 5 * protectors.HELD * CODES
    (person,) = statement(Database.existing(address)).people
    assert (person.draws, person.lines[0].placeholders, person.spent("in_all").epsilon) == (2, 3, 4)


def test_files_of_a_folder_are_charged_together_and_again_for_nothing(protector, address, tmp_path):
    (tmp_path / "in").mkdir()
    for rows in (23, 40):
        write(walk(rows), tmp_path / "in" / f"{rows}.csv")
    tallies = []
    for out in ("one", "two"):
        ledger = protector.ledger(address, stream="walk")
        tallies.append(protector.protect([tmp_path / "in"], tmp_path / out, ledger=ledger).draws)
    assert (tallies[0].charged, tallies[1].charged, tallies[1].repeated) == (WINDOWS + 10, 0, WINDOWS + 10)
    for name in ("1.csv", "2.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_an_array_of_windows_says_what_it_cost(protector, address):
    ledger = protector.ledger(address, stream="array")
    for _ in range(2):
        assert protector.protect(np.zeros((7, 4, 2)), ledger=ledger).cost.draws == 7
    assert statement(Database.existing(address)).people[0].draws == 14


def test_the_same_file_read_otherwise_is_another_table(protector, address, tmp_path):
    """Without a line of names, `columns` decides which numbers are which channel's."""
    (tmp_path / "in.csv").write_text("0.5,-0.5\n" * 40)
    charged = []
    for columns in (["acc_x", "acc_y"], ["acc_y", "acc_x"], ["acc_x", "acc_y"]):
        ledger, out = protector.ledger(address, stream="s"), tmp_path / f"{len(charged)}.csv"
        charged.append(protector.protect(tmp_path / "in.csv", out, columns=columns, ledger=ledger).draws.charged)
    assert charged == [10, 10, 0]


KILLED = """
import os, signal, sys
from deeprotect import Protector
from deeprotect.release.ledger.books import StoredBooks
protector, source, sink, ledger = Protector.load(sys.argv[1]), *sys.argv[2:]
record, calls = StoredBooks.record, []
def dying(self, drawn):
    kept = record(self, drawn)
    calls.append(len(kept[0]))
    if len(calls) == 2:
        print(calls[0], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return kept
StoredBooks.record = dying
protector.protect(source, sink, ledger=protector.ledger(ledger, stream="walk"))
"""


def test_a_release_that_is_killed_leaves_nothing_of_the_batch_that_it_was_at(bundle, protector, tmp_path):
    source, ledger = write(walk(100_000, recordings=1), tmp_path / "in.csv"), tmp_path / "ledger.db"
    bundle.save(tmp_path / "protector")
    command = [sys.executable, "-c", KILLED, tmp_path / "protector", source, tmp_path / "out.csv", ledger]
    killed = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    assert killed.returncode == -9
    assert not (tmp_path / "out.csv").exists()
    before = statement(Database.existing(str(ledger))).people[0].draws
    assert before == int(killed.stdout)  # of the batch before, whole: the one that it was at costs nothing
    summary = protector.protect(source, tmp_path / "out.csv", ledger=protector.ledger(ledger, stream="walk"))
    assert 0 < before == summary.draws.repeated
    assert statement(Database.existing(str(ledger))).people[0].draws == 25_000


@pytest.mark.parametrize("kind", ["forget", "archive"])
def test_what_was_forgotten_is_refused_and_by_another_way_it_is_a_second_draw_that_is_charged_and_said(
    protector, address, tmp_path, kind
):
    """The file itself, and a copy, are known by their content; the same windows in other bytes are not."""
    database, month = Database.existing_or_new(address), timedelta(days=30)
    source = write(walk(23), tmp_path / "in.csv")
    before = lambda: utc_now() - 2 * month  # noqa: E731
    old = StoredLedger(database, Account("walk"), Price.of_bundle(protector.bundle), clock=before)
    first = protector.protect(source, ledger=old).table
    if kind == "forget":
        assert forget_draws(database, older_than=month) > 0
    else:
        archive_charges(database, tmp_path / "old.csv", older_than=month)
    for again in (source, shutil.copy(source, tmp_path / "copy.csv")):
        with pytest.raises(ReleasedBeforeError, match="never drawn a second time"):
            protector.protect(again, tmp_path / "out.csv", ledger=address, stream="walk")
        assert not (tmp_path / "out.csv").exists()
    assert statement(database).people[0].draws == WINDOWS
    other = tmp_path / "other.csv"
    other.write_bytes(source.read_bytes() + b"\n")
    ways = ((other, {}), (walk(23), {}), (source, {"app": "maps"}))
    for number, (table, who) in enumerate(ways, start=2):
        release = protector.protect(table, ledger=address, stream="walk", **who)
        assert not release.table.equals(first)
        said = "\n".join(remembered(release.draws, address, ["walk"]))
        assert f": {WINDOWS} draws charged\n" in said
        assert f"ε = {5 * WINDOWS * number} in all" in said

"""Many processes on one ledger, killed at any point: never overspent, never a release without its charge, never two."""

import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.release.ledger.writers import Work

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, streams
from deeprotect.release.ledger.stored import key_of

ROOT = Path(__file__).parents[3]
WRITERS = 16
KILLS = 16


def run(address, works, *, kind="at once", seed=0):
    """What left, and what was refused, line by line."""
    plan = {"address": address, "kind": kind, "works": [asdict(work) for work in works], "kills": KILLS, "seed": seed}
    command = [sys.executable, "-m", "tests.release.ledger.writers"]
    done = subprocess.run(command, input=json.dumps(plan), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def released(lines):
    """The values that left for each draw."""
    values = defaultdict(set)
    for line in lines:
        rest = iter(line.get("released", ()))
        for recording, first, count in line.get("batch", ()):
            for number in range(first, first + count):
                values[line["stream"], recording, number].add(next(rest))
    return values


def charged(address, recordings):
    """How often each draw was charged, by stream and recording."""
    names = {key_of("", "bundle", "", name): name for name in recordings}
    counts = defaultdict(int)
    with Database.existing(address).reading() as connection:
        asked = select(streams.c.name, charges.c.key, charges.c.first, charges.c.draws, charges.c.paid)
        for stream, key, first, draws, paid in connection.execute(asked.select_from(charges.join(streams))):
            for number in range(first, first + draws):
                counts[stream, names[bytes(key)], number] += paid
    return counts


def check(address, lines, recordings):
    """The laws; gives how many draws were charged."""
    values, counts = released(lines), charged(address, recordings)
    assert values
    assert all(len(each) == 1 for each in values.values())  # never two releases for one charge
    assert values.keys() <= counts.keys()  # never one without
    assert set(counts.values()) == {1}  # and never two charges for one
    return len(counts)


@pytest.mark.long
def test_writers_of_one_person_never_pass_its_limit(address):
    limit = 250
    works = [
        Work(f"s{writer}", "ann", tuple((("r", 4 * batch, 4),) for batch in range(5)), {"in_all": float(limit)})
        for writer in range(WRITERS)
    ]
    lines = run(address, works, seed=1)
    spent = 5 * check(address, lines, ["r"])
    assert any("refused" in line for line in lines)
    assert limit - 4 * 5 < spent <= limit  # all that is allowed, and no more


@pytest.mark.long
def test_writers_of_one_table_release_the_same(address):
    """Each cuts the same recordings into other batches, so that charges and draws meet in the middle of runs."""
    works = [Work("s", "ann", tuple(_cut(size=4 + writer)), {}) for writer in range(WRITERS)]
    lines = run(address, works, seed=2)
    assert check(address, lines, ["a", "b"]) == len(released(lines)) == 60


def _cut(size):
    for first in range(0, 30, size):
        count = min(size, 30 - first)
        yield (("a", first, count), ("b", first, count))


@pytest.mark.long
def test_a_writer_that_dies_at_any_statement_is_made_good_by_the_next(address):
    work = Work("s", "ann", ((("a", 0, 3), ("b", 0, 1)),), {"in_all": 1e6})
    lines = run(address, [work], kind="at every point")
    tried = {line["stream"] for line in lines}
    assert len(tried) > 20
    assert check(address, lines, ["a", "b"]) == 4 * len(tried)

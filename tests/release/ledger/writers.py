"""Processes that charge one ledger at once and are killed: a program of its own, so that tests never fork themselves.

It reads a plan as JSON on standard input and prints one line for every batch that left. What is printed has left: a
process that dies before has released nothing.
"""

import importlib
import json
import os
import random
import signal
import sys
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import event
from tests.release.ledger.bookings import Asked
from tests.release.ledger.prices import price

from deeprotect.errors import BudgetError
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Run


@dataclass(frozen=True)
class Work:
    """Batches of runs for one account, in order; a writer that is started again begins at the first."""

    stream: str
    person: str
    batches: tuple[tuple[tuple[str, int, int], ...], ...]
    limits: dict[str, float]
    epsilon: float = 5.0

    def do(self, database, *, left, point=lambda: None):
        """Charge, draw, record, and say what left."""
        ledger = StoredLedger(database, Account(self.stream, self.person), price(self.epsilon, **self.limits))
        for batch in self.batches:
            runs = [Run(*each) for each in batch]
            count = sum(run.count for run in runs)
            with ledger.open([Asked(ledger, runs, np.ones(count, dtype=np.int64))]) as books:
                (paid,) = books.charge()
                point()
                words = SystemEntropy().words(count) >> np.uint64(32)
                drawn = None if isinstance(paid, BudgetError) else words.astype(np.float64)[:, None]
                (kept,) = books.record([drawn])
                point()
            if kept is None:
                left({"stream": self.stream, "refused": batch})
                continue
            point()
            released = kept[:, 0]
            left({"stream": self.stream, "batch": batch, "released": released.tolist()})


def fork(job):
    """A child that does the job and nothing else."""
    child = os.fork()
    if child == 0:
        try:
            job()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os.kill(os.getppid(), signal.SIGKILL)  # nobody waits for a line that will not come
            os._exit(1)
    return child


def at_once(address, works, *, kills, seed):
    """All works at the same time. While they go on, any of them is killed, at whatever point it is, and starts anew."""
    chance, (reader, writer) = random.Random(seed), os.pipe()

    def left(line):
        os.write(writer, json.dumps(line).encode() + b"\n")  # one short write: lines of several writers never mix

    def job(work):
        work.do(Database.existing_or_new(address), left=left)  # the first of them makes it
        left({"done": os.getpid()})

    def start(work):
        return fork(lambda: job(work))

    living, lines = {start(work): work for work in works}, os.fdopen(reader, "rb")
    while living:
        line = lines.readline().decode()
        if (done := json.loads(line).get("done")) is None:
            print(line, end="")
        elif done in living:
            os.waitpid(done, 0)
            del living[done]
        if living and kills and chance.random() < 0.5:
            victim = chance.choice(list(living))
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
            work = living.pop(victim)
            living[start(work)] = work
            kills -= 1


def at_every_point(address, work):
    """The work on a stream, killed at its first statement, and again; on another, killed at its second; and so on."""
    database = Database.existing_or_new(address)  # it holds no connection, so children may use it
    number, killed = 0, True
    while killed:
        number += 1
        mine = replace(work, stream=f"{work.stream}{number}")
        child = fork(lambda mine=mine, number=number: _dying(database, mine, number))
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        mine.do(database, left=_say)


def _dying(database, work, number):
    passed = [0]

    def point(*_):
        passed[0] += 1
        if passed[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(database.engine, name, point)
    work.do(database, left=_say, point=point)


def _say(line):
    os.write(1, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    plan = json.loads(sys.stdin.read())
    importlib.import_module("psycopg" if "://" in plan["address"] else "sqlite3")  # once for all children
    works = [Work(**work) for work in plan["works"]]
    if plan["kind"] == "at once":
        at_once(plan["address"], works, kills=plan["kills"], seed=plan["seed"])
    else:
        at_every_point(plan["address"], works[0])

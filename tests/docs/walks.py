"""The four call paths, each executed, and the functions in the order of their first calls."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from tests.gateway.conftest import channel_bundle, message
from tests.mutations import protectors

from deeprotect.api import Protector
from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.evaluator import Evaluator, Setup
from deeprotect.evaluation.methods import Method, Setting
from deeprotect.evaluation.runner import FittedFold
from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import read_windows

PACKAGE = Path(__file__).parents[2] / "src" / "deeprotect"
Walk = Callable[[], object]


@contextmanager
def traced() -> Iterator[dict[str, None]]:
    """`file.py::function` of the package at its first call, in any thread."""
    first: dict[str, None] = {}

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(PACKAGE)):
            first.setdefault(f"{Path(path).relative_to(PACKAGE)}::{frame.f_code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield first
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def file(folder: Path) -> Walk:
    table = pa.table({"time": np.arange(100) / 10, "acc_x": np.zeros(100)})
    pa_parquet.write_table(table, folder / "in.parquet")
    protector = Protector(protectors.coded())
    ledger = protector.ledger(folder / "ledger.db", stream="walk")
    return partial(protector.protect, folder / "in.parquet", folder / "out.parquet", ledger=ledger)


def live(_: Path) -> Walk:
    return partial(Protector(protectors.held()).stream(listen=1).push, np.zeros((200, 1)))


def gateway(folder: Path) -> Walk:
    channel_bundle().save(folder / "protector")
    made = Gateway(Settings({"protector": folder / "protector"}, str(folder / "ledger.sqlite")))
    made.registry.add_device("watch", person="ann")
    made.registry.add_app("fitness", stream="watch", bundle="protector")
    made.directory.refresh()

    async def play() -> None:
        async with made.running():
            with made.mediator.subscribe(made.directory.apps()[0]):
                await made.mediator.receive(made.directory.device("watch"), message(0, 12))

    return lambda: asyncio.run(play())


def evaluation(_: Path) -> Walk:
    """One method on one fold, once apps and attackers have learnt from raw windows."""
    people = np.repeat([f"{person} {take}" for person in ("ann", "bob") for take in range(4)], 60)
    table = pa.table(
        {
            "recording": people,
            "acc_x": np.random.default_rng(0).normal(0, 0.3, len(people)),
            "activity": np.where(np.arange(len(people)) // 60 % 2, "sit", "walk"),
            "person": [name.split()[0] for name in people.tolist()],
        }
    )
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10.0, "window": 5, "channels": {"acc_x": {"unit": "g", "range": [-1.0, 1.0]}}},
            "inferences": {"useful": ["activity"], "sensitive": ["person"]},
            "privacy": {"epsilon": 5.0, "mechanism": "baseline"},
        }
    )
    windows, setup = read_windows(table, policy), Setup(attackers=("ridge",), pools=())
    (fold,) = SplitSpec().make_folds(windows, seed=0)
    evaluator = Evaluator.prepare(windows[fold.train], windows[fold.test], policy, setup=setup)
    release = FittedFold(evaluator, policy).release(Setting(Method("baseline", "ldp"), 5.0))
    return partial(evaluator.predictions, release)


WALKS: dict[str, Callable[[Path], Walk]] = {"file": file, "live": live, "gateway": gateway, "evaluation": evaluation}

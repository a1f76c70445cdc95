"""Scripts through the one engine: charged once an episode, drawn once, shown slot by slot; alike in files and live."""

import asyncio

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from tests.gateway.conftest import message
from tests.gateway.test_mediator import draws, listening, made
from tests.mutations import protectors

from deeprotect.api import Protector
from deeprotect.auditing import isolation
from deeprotect.auditing.pairs import candidates
from deeprotect.bundle import Bundle
from deeprotect.bundle.verification.verify import steps
from deeprotect.errors import BundleError, InputError
from deeprotect.exporting.targets import export_browser, export_device, export_onnx
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Request, encode, one, release, stream
from deeprotect.release.episodes import Episodes, live_observing
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Frame, Windows

HELD, CODES, CERTAIN = protectors.HELD, protectors.CODES, 40.0


@pytest.fixture(scope="module")
def certain() -> Bundle:
    """Kept but once in 10^15 draws: what leaves is what was read."""
    return protectors.scripted(CERTAIN, slot=2, variants=3)


def samples_of(labels):
    """Windows whose largest sample is at the place of their label."""
    return np.where(np.arange(CODES) == np.array(labels)[:, None], 3.0, -3.0)[:, :, None]


def windows(labels) -> Windows:
    places = np.arange(len(labels))
    return Windows(samples_of(labels), Frame(np.full(len(labels), CODES), places * CODES, places // HELD))


def shown(samples) -> list[int]:
    return samples.reshape(-1, CODES).argmax(axis=1).tolist()


def codes_of(bundle, private):
    (codes,) = encode([Request.of(private, bundle, MemoryLedger(Price.of(bundle.mechanism)))])
    return codes


def test_an_episode_shows_what_was_done_and_in_which_slot_it_changed(certain):
    ledger = MemoryLedger(Price.of(certain.mechanism))
    private = windows([2, 2, 2, 2, 0, 0, 1, 1, 3, 3, 3, 3, 1, 1, 1])
    (released,) = stream([private], certain, ledger=ledger, entropy=SystemEntropy())
    assert shown(released.samples) == [2, 2, 2, 2, 0, 0, 1, 1, 3, 3, 3, 3, 1, 1, 1]
    assert ledger.spending.draws == 3
    assert ledger.spending.per_stream == 3 * CERTAIN


def test_a_change_too_many_or_inside_a_slot_is_lost(certain):
    private = windows([0, 0, 1, 1, 0, 0, 2, 2, 2, 3, 3, 3])
    found = certain.mechanism.scripts.sequences(codes_of(certain, private)[:, 0].astype(np.int64))
    assert np.count_nonzero(found[0] == [0, 1, 0]) == 2
    assert found[1, 0] == 2
    assert found[1, 2] == 3


def test_no_window_touches_another_episode(certain):
    private, other = windows([0, 0, 1, 1, 1, 1] * 4), windows([3, 3, 3, 3, 2, 2] * 4)
    before = codes_of(certain, private)
    for episode in range(4):
        inside = (private.frame.episodes == episode)[:, None, None]
        after = codes_of(certain, Windows(np.where(inside, other.samples, private.samples), private.frame))
        assert (np.arange(4) == episode).tolist() == (after != before)[:, 0].tolist()


@pytest.mark.long
def test_the_audit_finds_no_window_that_touches_another():
    bundle = protectors.scripted(slot=2, variants=3)
    assert isolation.isolation(bundle, candidates(bundle), streams=((2,), (5, 4))).holds


def test_a_file_an_array_and_a_stream_show_the_same(certain):
    labels = [1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 0, 0, 2, 2]
    rows, protector = samples_of(labels).reshape(-1), Protector(certain)
    table = pa.table({"acc_x": rows})
    assert shown(protector.protect(table).table["acc_x"].to_numpy()) == labels
    assert shown(protector.protect(samples_of(labels)).table) == labels
    live = protector.stream()
    assert shown(np.concatenate([live.push(rows[:, None]), live.finish()])) == labels


def test_live_a_script_leaves_once_its_episode_is_over(certain):
    live = Protector(certain).stream()
    rows = samples_of([1, 1, 2, 2, 2, 2]).reshape(-1, 1)
    assert [len(live.push(row)) for row in rows] == [0] * (len(rows) - 1) + [len(rows)]
    with pytest.raises(InputError, match="a script is drawn from its whole episode"):
        Protector(certain).stream(listen=2)


def test_a_ledger_gives_the_same_script_again(tmp_path):
    protector, raw = Protector(protectors.scripted(1.0, slot=2, variants=3)), tmp_path / "raw.csv"
    write_csv(pa.table({"acc_x": samples_of([0, 0, 1, 1, 1, 1] * 5).reshape(-1)}), raw)
    for name in ("first", "again"):
        ledger = protector.ledger(tmp_path / "ledger.db", stream="walk")
        protector.protect(raw, tmp_path / f"{name}.csv", ledger=ledger)
    assert (tmp_path / "first.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()


def test_the_gateway_releases_a_script_with_its_last_window(tmp_path):
    gateway = made(tmp_path, every="2.4 s", slots="0.8 s")  # six windows

    async def play():
        async with listening(gateway) as (mediator, device, got):
            waits = []
            for place in range(12):
                await mediator.receive(device, message(4 * place, 4))
                await asyncio.sleep(0.02)
                waits.append(len(got))
            return waits

    # Episodes go by the clock: two windows are left of the first one; the last is not over when its reader has gone.
    assert asyncio.run(play()) == [0, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8, 8]
    assert draws(gateway) == 2


def test_live_the_slots_of_an_episode_that_was_met_late_are_its_own(certain):
    episodes = Episodes(certain, MemoryLedger(Price.of(certain.mechanism)), live_observing(certain))
    for number, samples in enumerate(samples_of([1, 1, 1, 3]), start=2):
        episodes.take(number, samples, part=0, number=number)
    ((episode, request),) = episodes.due()
    episode.settle(one(release([request], entropy=SystemEntropy())))
    leaving = list(episodes.leaving(SystemEntropy()))
    assert [each.ticket for each in leaving] == [2, 3, 4, 5]
    assert shown(np.stack([each.window for each in leaving]))[:2] == [1, 1]
    looked = certain.mechanism.scripts.sequences(encode([request])[0][:, 0].astype(np.int64))
    assert looked[0, :2].tolist() == [1, 1]


def test_verify_derives_epsilon_again_and_certificates_say_what_a_script_is(certain):
    assert not any(step.breaks for step in steps(certain))
    stated = certain.manifest.certificate
    assert stated["neighbours"] == "any two episodes"
    assert (stated["scripts"], stated["slots"], stated["changes"]) == (CODES + CODES * (CODES - 1) * 2, 3, 1)
    assert stated["derived_epsilon"] <= stated["epsilon"] == CERTAIN


@pytest.mark.parametrize(
    ("altered", "says"),
    [
        ({"slots": None}, "no scripts"),
        ({"slots": "400 ms"}, "not the policy's"),
        ({"every": "4.8 s"}, "not the policy's"),
        ({"changes": 0}, "not the policy's"),
    ],
)
def test_scripts_that_are_not_the_policys_are_refused(certain, altered, says):
    policy = certain.policy.vary(privacy=altered).to_json()
    with pytest.raises(BundleError, match=says):
        Bundle(certain.manifest.model_copy(update={"policy": policy}), certain.files).checked("altered")


@pytest.mark.parametrize("export", [export_browser, export_device, export_onnx])
def test_a_device_refuses_a_script_in_one_line(certain, export, tmp_path):
    with pytest.raises(BundleError, match="devices cannot draw scripts"):
        export(certain, tmp_path / "out")


def test_a_shorter_last_episode_shows_its_own_slots(certain):
    private = windows([1, 1, 3])
    (released,) = stream([private], certain, ledger=MemoryLedger(Price.of(certain.mechanism)), entropy=SystemEntropy())
    assert shown(released.samples) == [1, 1, 3]

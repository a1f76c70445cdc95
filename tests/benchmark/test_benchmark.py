"""What `bench` measures is what it says it measures; how fast anything is, is not tested."""

import json
import sys

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
from typer.testing import CliRunner

from deeprotect.benchmark import benchmark as speed
from deeprotect.benchmark import throughput
from deeprotect.benchmark.ratio import Ratio, compare
from deeprotect.cli.app import app
from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import load
from deeprotect.tables.columns import Columns


class FakeClock:
    """A clock that only the measured work moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, items: int, seconds: list[float]):
        left = iter(seconds)

        def work() -> int:
            self.now += next(left)
            return items

        return work


def test_a_ratio_is_our_throughput_over_the_peers_in_their_fastest_turns() -> None:
    clock = FakeClock()
    ours, theirs = clock.work(100, [9.0, 2.0, 5.0]), clock.work(10, [4.0, 7.0, 2.0])
    assert compare(ours, theirs, repeats=3, clock=clock) == pytest.approx((100 / 2) / (10 / 2))


def test_ours_and_the_peer_take_turns() -> None:
    order: list[str] = []
    compare(lambda: len(order.append("ours") or "x"), lambda: len(order.append("theirs") or "x"), repeats=2)
    assert order == ["ours", "theirs"] * 2


def test_noise_is_held_against_every_peer_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    alone = speed.noise(draws=64, repeats=1)
    assert [each.peer for each in alone] == ["numpy, floating point"] * len(speed.SCALES)


def test_opendp_is_a_peer_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp", reason="needs opendp; install deeprotect[dev]")
    monkeypatch.setattr(speed, "PEER_DRAWS", 16)
    peers = {each.peer for each in speed.noise(draws=64, repeats=1)}
    assert any(peer.startswith("OpenDP") for peer in peers)


def test_each_peer_does_the_same_work() -> None:
    scale = speed.SCALES[0]
    assert speed._ours(scale, 40)() == speed._numpy(scale, 40)() == 40
    for _, theirs in speed._opendp(scale):
        assert theirs() == speed.PEER_DRAWS


def test_the_peer_of_the_channel_draws_from_the_channels_own_probabilities() -> None:
    probabilities = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert speed._choice(probabilities, np.array([0, 1, 1]))() == 3
    (ratio,) = speed.channel(draws=100, repeats=1)
    assert ratio.quantity == "throughput"
    assert ratio.ratio > 0


def test_random_bits_are_a_share_of_the_draw() -> None:
    (ratio,) = speed.entropy_share(draws=20_000, repeats=1)
    assert 0 < ratio.ratio < 1


def test_the_timed_entropy_cannot_be_used_for_a_release() -> None:
    from deeprotect.errors import EntropyError

    with pytest.raises(EntropyError):
        require_system(speed.TimedEntropy())
    assert require_system(SystemEntropy())


def test_the_protector_that_is_timed_keeps_its_promise() -> None:
    bundle = throughput.protector()
    assert load(bundle.mechanism.to_json()).certificate() == bundle.manifest.certificate
    windows = np.random.default_rng(0).uniform(size=(5, throughput.WINDOW, len(throughput.CHANNELS)))
    code = bundle.encode(windows)
    assert code.mean() == pytest.approx(windows.mean(), abs=1e-5)
    assert bundle.encode(bundle.decode(code)) == pytest.approx(code, abs=1e-5)


def test_the_table_that_is_timed_fits_the_protector() -> None:
    table, bundle = throughput.walk(50), throughput.protector()
    assert Columns.of(table.schema, bundle.schema, mapping={}, where="the table").dropped == ()


def test_protect_and_copy_write_the_same_rows(tmp_path) -> None:
    source = tmp_path / "large.parquet"
    throughput.protector().save(tmp_path / "protector")
    throughput.write(throughput.walk(500), source)
    for program in (throughput.PROTECT, throughput.COPY["parquet"]):
        run = throughput.run(program, source)
        written = pa_parquet.read_table(tmp_path / "written.parquet")
        assert written["time"] == pa_parquet.read_table(source)["time"]
        assert run.seconds > 0
        assert run.peak_bytes > 10 << 20
    assert written == pa_parquet.read_table(source)


def test_memory_left_in_the_parent_is_not_counted(tmp_path) -> None:
    source = tmp_path / "large.csv"
    throughput.write(throughput.walk(100), source)
    ballast = np.ones(100 << 20, dtype=np.uint8)
    before = throughput.run(throughput.COPY["csv"], source).peak_bytes
    ballast = np.concatenate([ballast, ballast, ballast])
    assert abs(throughput.run(throughput.COPY["csv"], source).peak_bytes - before) < ballast.size // 4


def test_the_verb_prints_a_table_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Ratio("noise", "a peer", "throughput", 50.44), Ratio("protect", "a copy", "memory", 2.0)]
    monkeypatch.setattr(speed, "measure", lambda *, progress: found)
    shown = CliRunner().invoke(app, ["bench"]).stdout
    assert "50.4 ×" in shown
    assert "more" in shown
    assert "less" in shown
    printed = json.loads(CliRunner().invoke(app, ["bench", "--json"]).stdout)
    assert printed["schema"] == 1
    assert [Ratio(**each) for each in printed["ratios"]] == found


def test_all_parts_are_measured_and_progress_ends_at_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("noise", "entropy_share", "channel", "encoders", "start"):
        monkeypatch.setattr(speed, part, lambda part=part: [Ratio(part, "p", "time", 1.0)])
    monkeypatch.setattr(speed, "tables", lambda *, progress: progress(1.0) or [Ratio("tables", "p", "time", 1.0)])
    shares: list[float] = []
    ratios = speed.measure(progress=shares.append)
    assert [each.what for each in ratios] == ["noise", "entropy_share", "channel", "encoders", "start", "tables"]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)

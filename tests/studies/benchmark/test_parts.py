"""`bench` measures what it claims; speed is not tested."""

import sys

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest

from deeprotect.errors import EntropyError
from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import load
from deeprotect.tables.columns import Columns
from studies.benchmark import growth, learning, live, made_up, noise_speed, own_process, throughput
from studies.benchmark.made_up import Shape

SMALL = Shape(channels=2, samples=6, codes=3)


def test_noise_is_held_against_every_peer_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    alone = noise_speed.laplace(draws=64, repeats=1)
    assert [each.peer for each in alone] == ["numpy, floating point"] * len(noise_speed.SCALES)


def test_opendp_is_a_peer_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp", reason="needs opendp; install deeprotect[dev]")
    monkeypatch.setattr(noise_speed, "PEER_DRAWS", 16)
    assert any(each.peer.startswith("OpenDP") for each in noise_speed.laplace(draws=64, repeats=1))


def test_each_peer_does_the_same_work() -> None:
    scale = noise_speed.SCALES[0]
    assert noise_speed._ours(scale, 40)() == noise_speed._numpy(scale, 40)() == 40
    for _, theirs in noise_speed._opendp(scale):
        assert theirs() == noise_speed.PEER_DRAWS


def test_the_peer_of_the_channel_draws_from_the_channels_own_probabilities() -> None:
    assert noise_speed._choice(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1, 1]))() == 3
    ratio = noise_speed.channel(draws=100, repeats=1)
    assert ratio.quantity == "throughput"
    assert ratio.ratio > 0


def test_random_bits_are_a_share_of_the_draw() -> None:
    assert 0 < noise_speed.entropy_share(draws=20_000, repeats=1).ratio < 1


def test_the_timed_entropy_cannot_be_used_for_a_release() -> None:
    with pytest.raises(EntropyError):
        require_system(noise_speed.TimedEntropy())
    assert require_system(SystemEntropy())


def test_the_channel_that_is_timed_is_randomised_response() -> None:
    mechanism = made_up.randomised_response(5, variants=2)
    assert load(mechanism.to_json()).certificate() == mechanism.certificate()
    epsilon = mechanism.certificate()["ldp_epsilon"]
    assert epsilon == pytest.approx(made_up.EPSILON, rel=1e-6)
    assert epsilon <= made_up.EPSILON
    assert np.ptp(np.diag(mechanism.probabilities)) < 1e-12


def test_the_protector_that_is_timed_is_the_one_that_training_makes() -> None:
    """Its layers, one for one, of the right widths; with a table of public windows."""
    from deeprotect.bundle.layers.products import Affine
    from deeprotect.training.codebook.coder import WIDTH

    bundle = made_up.protector(SMALL)
    assert bundle.encoder.inputs == 12
    products = [layer.product for layer in bundle.encoder.layers if isinstance(layer, Affine)]
    assert [product.weights.shape[1] for product in products] == [WIDTH, 3]
    code = bundle.encode(SMALL.windows(50))
    assert set(np.unique(code)) <= {0.0, 1.0, 2.0}
    assert bundle.decode(np.zeros((4, 1))).shape == (4, 6, 2)


def test_the_table_that_is_timed_fits_the_protector_and_a_labelled_one_has_every_class() -> None:
    schema = made_up.policy(SMALL).schema()
    table = made_up.recording(500, SMALL)
    assert Columns.of(table.schema, schema, mapping={}, where="the table").dropped == ()
    labelled = made_up.recording(500, SMALL, labelled=True)
    assert set(labelled["activity"].to_pylist()) == {"a0", "a1", "a2"}


@pytest.mark.long
@pytest.mark.parametrize("kind", throughput.PEERS)
def test_protect_and_copy_write_the_same_rows(tmp_path, kind) -> None:
    source = tmp_path / f"large.{kind.lower()}"
    made_up.protector(Shape()).save(tmp_path / "protector")
    throughput.write(made_up.recording(500, Shape()), source)
    for program in (throughput.PROTECT.format(bundle="protector"), throughput.COPY[kind]):
        run = own_process.run(program, source)
        assert run.seconds > 0
        assert run.peak_bytes > 10 << 20
        if kind == "Parquet":
            written = pa_parquet.read_table(tmp_path / "written.parquet")
            assert written["time"] == pa_parquet.read_table(source)["time"]
    if kind == "Parquet":
        assert written == pa_parquet.read_table(source)


def test_memory_left_in_the_parent_is_not_counted(tmp_path) -> None:
    source = tmp_path / "large.csv"
    throughput.write(made_up.recording(100, SMALL), source)
    ballast = np.ones(100 << 20, dtype=np.uint8)
    before = own_process.run(throughput.COPY["CSV"], source).peak_bytes
    ballast = np.concatenate([ballast, ballast, ballast])
    assert abs(own_process.run(throughput.COPY["CSV"], source).peak_bytes - before) < ballast.size // 4


def test_a_live_window_is_measured_by_the_clock_and_by_the_processor() -> None:
    *times, share = live.live(windows=20, rounds=2)
    for median, late in (times[:2], times[2:]):
        assert 0 < median.ratio <= late.ratio
    assert 0 < share.ratio < 1


def test_training_that_is_linear_has_exponents_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def linear(_program, source):
        rows = pa_parquet.ParquetFile(source).metadata.num_rows
        return own_process.TimedRun(rows * 1e-6, rows * 1e-6, rows * 1000)

    monkeypatch.setattr(learning, "run", linear)
    *grown, large = learning.growth((20, 200, 2000))
    for each in grown:
        assert each.ratio == pytest.approx(1.0), each
    assert large.ratio == pytest.approx(2000 * learning.SMALL.samples * 1000 / 1e9)


@pytest.mark.long
def test_what_is_trained_to_see_growth_is_what_train_does(tmp_path) -> None:
    source = tmp_path / "in.parquet"
    throughput.write(made_up.recording(300 * learning.SMALL.samples, learning.SMALL, labelled=True), source)
    assert own_process.run(learning.TRAIN, source).seconds > 0


def test_growth_of_what_is_linear_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def linear(_program, source):
        rows = pa_parquet.ParquetFile(source).metadata.num_rows
        return own_process.TimedRun(rows * 1e-6, rows * 1e-6, 10**8)

    monkeypatch.setattr(growth, "run", linear)
    monkeypatch.setattr(growth, "FEWEST_COMPARED", 100)
    for each in growth.rows(sizes=(100, 1000, 10_000)):
        assert each.ratio == pytest.approx(1.0), each


@pytest.mark.long
@pytest.mark.timeout(1200)  # it trains one protector in full
def test_a_whole_evaluation_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "EVALUATE", learning.EVALUATE.replace("jobs=2", "jobs=1, quick=True"))
    monkeypatch.setattr(learning, "PERSON_WINDOWS", 60)
    (ratio,) = learning.evaluating(windows=600)
    assert (ratio.what, ratio.peer) == ("evaluate one policy on 600 windows of 50 × 6, by the clock", "train it once")
    assert ratio.ratio > 0

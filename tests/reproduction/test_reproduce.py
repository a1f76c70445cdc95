"""A whole reproduction on made-up data: the same twice, what is missing said, files complete and sounds valid."""

import io
import json
import re
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.audio import RATE_HZ, read_wav, write_wav
from deeprotect.errors import DatasetError, InputError
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.minimiser_comparison import NAMES
from deeprotect.policy import Policy
from deeprotect.reproduction import listening
from deeprotect.reproduction.case import Case, CaseExperiment
from deeprotect.reproduction.reproduce import ReproduceRequest, reproduce
from deeprotect.reproduction.size import Size
from deeprotect.training.dataset import LabelledWindows

SMALL = Size(
    folds=2,
    epsilons=(5.0,),
    epochs=2,
    windows=300,
    owners=1,
    transport=90,
    features=(1, 7),
    steps=20,
    voices=2,
    attackers=("ridge",),
    app="ridge",
)
CHEAP = (Method("baseline", "ldp"), Method("laplace", "ldp"), Method("subspace", "rldp"), Method("channel", "named"))


@pytest.fixture(scope="module")
def experiment() -> CaseExperiment:
    """What is done shows in the first channel, who does it in the second."""
    rng = np.random.default_rng(0)
    recording = np.repeat(np.arange(6), 50)
    doing, who = recording % 2, recording // 2
    samples = 0.5 + rng.normal(0, 0.03, (300, 4, 2))
    samples[:, :, 0] += 0.2 * (doing[:, None] - 0.5)
    samples[:, :, 1] += 0.1 * (who[:, None] - 1)
    labels = {
        "mode": np.array(["walk" if each else "still" for each in doing], dtype=object),
        "person": np.array(["ann", "bob", "eve"], dtype=object)[who],
    }
    windows = LabelledWindows(np.clip(samples, 0, 1), labels, recording, 1200, "made up", who, np.arange(300))
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {
                "rate_hz": 10.0,
                "window": 4,
                "channels": {name: {"unit": "g", "range": [-1.0, 1.0]} for name in ("swing", "rest")},
            },
            "inferences": {"useful": ["mode"], "sensitive": ["person"]},
            "privacy": {"epsilon": 5.0},
            "training": {"max_epochs": 2},
        }
    )
    return CaseExperiment(
        "1x", "mode against person", windows, policy, SplitSpec(folds=2, most=300), CHEAP, ["made up"], curves=True
    )


def case(number: int, experiments) -> Case:
    return Case(number, f"case {number}", "a purpose", ("watch",), lambda *_: experiments())


@pytest.fixture(scope="module")
def cases(experiment: CaseExperiment) -> list[Case]:
    def missing():
        raise DatasetError("data set 'moon' is not here; run: deeprotect datasets fetch moon")

    return [case(1, lambda: [experiment]), case(2, missing)]


@pytest.fixture(scope="module")
def folder(cases, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("reproduced")
    reproduce(out, ReproduceRequest(size=SMALL, cases=cases))
    return out


@pytest.fixture(scope="module")
def written(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def test_what_is_missing_is_said_and_the_rest_runs(folder, written):
    assert [each["case"] for each in written["cases"]] == ["1x"]
    assert written["missing"] == ["case study 2: data set 'moon' is not here; run: deeprotect datasets fetch moon"]
    assert "datasets fetch moon" in (folder / "report.html").read_text()


def test_where_nothing_can_run_the_message_says_how_to_get_the_data(cases, tmp_path):
    with pytest.raises(DatasetError, match="datasets fetch moon"):
        reproduce(tmp_path, ReproduceRequest([2], size=SMALL, cases=cases))
    assert not (tmp_path / "report.html").exists()


def test_an_unknown_case_is_wrong_input_before_any_work(cases, tmp_path):
    with pytest.raises(InputError, match="case study 7 is unknown; use 1, 2"):
        reproduce(tmp_path / "new", ReproduceRequest([7], size=SMALL, cases=cases))
    assert not (tmp_path / "new").exists()


def test_the_same_seed_gives_the_same_results(written, cases, tmp_path):
    reproduce(tmp_path, ReproduceRequest([1], size=SMALL, cases=cases))
    again = json.loads((tmp_path / "results.json").read_text())
    assert again["cases"] == written["cases"]
    assert again["paper"] == written["paper"]


def test_rows_features_and_papers_numbers_are_all_there(written):
    (found,) = written["cases"]
    assert {row["mechanism"] for row in found["results"]} == {"baseline", "laplace", "subspace", "channel"}
    kinds = {(point["minimiser"], point["features"]) for point in found["features"]}
    assert kinds == {(name, count) for name in NAMES for count in (1, 7)} | {("raw", 8)}
    assert all(len(point["informativeness"]) == 7 for point in found["features"] if point["features"] == 7)
    assert len(written["paper"]) == 4  # two on features, one on mechanisms, one trade-off


def test_figures_and_tables_stand_beside_a_page_that_needs_no_network(folder):
    page = (folder / "report.html").read_text()
    assert not re.search(r'(src|href)="(https?:|//)', page)
    for name in ("features-1x", "informativeness-1x", "mechanisms-1x", "trade-1x"):
        assert (folder / "figures" / f"{name}.svg").stat().st_size > 1000
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    tables = {path.name for path in (folder / "tables").iterdir()}
    assert {"1-paper.csv", "1x-results.csv", "1x-features.csv"} <= tables


def test_progress_grows_to_one(experiment, tmp_path):
    shares: list[float] = []
    short = case(1, lambda: [replace(experiment, methods=CHEAP[:1], split=SplitSpec())])
    reproduce(
        tmp_path, ReproduceRequest([1], size=replace(SMALL, features=(1,)), cases=[short]), progress=shares.append
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.fixture(scope="module")
def spoken(tmp_path_factory) -> CaseExperiment:
    """Two speakers who hum three digits: a band each for the digit, and a level each for the speaker."""
    rng = np.random.default_rng(0)
    digits, speakers = np.tile(["1", "3", "7"], 40), np.repeat(["ann", "bob"], 60)
    samples = 0.2 + rng.normal(0, 0.02, (120, 8, 32))
    for row, (digit, speaker) in enumerate(zip(digits, speakers, strict=True)):
        samples[row, :, 3 * int(digit)] += 0.5 if speaker == "ann" else 0.4
    samples[0, 5:] = samples[0, 4]
    labels = {"digit": digits.astype(object), "speaker": speakers.astype(object)}
    people = (speakers == "bob").astype(np.int64)
    windows = LabelledWindows(samples, labels, np.arange(120), 960, "made up", people, np.arange(120))
    bands = {f"mel_{band:02d}": {"unit": "dB", "range": [-100.0, 0.0]} for band in range(32)}
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 100.0, "window": 8, "channels": bands},
            "inferences": {"useful": ["digit"], "sensitive": ["speaker"]},
            "privacy": {"epsilon": 5.0},
            "training": {"max_epochs": 2},
        }
    )
    file = tmp_path_factory.mktemp("voices") / "hum.wav"
    write_wav(file, (3000 * np.sin(np.arange(640) / 3)).astype(np.int16))
    return CaseExperiment("3x", "digit against speaker", windows, policy, SplitSpec(folds=2), CHEAP, files=[file] * 120)


@pytest.fixture(scope="module")
def samples(spoken: CaseExperiment) -> list[listening.SpeechSample]:
    plan = spoken.plan(SMALL, jobs=1, seed=0)
    with plan.prepared(spoken.windows, spoken.policy) as runner:
        return listening.listen(spoken, runner, voices=2)


def test_several_speakers_say_several_digits(samples):
    assert {(each.digit, each.speaker) for each in samples} == {(d, s) for d in "37" for s in ("ann", "bob")}
    ways = listening.ways(samples)
    assert ways[:2] == [listening.RAW, listening.THROUGH]
    assert {"baseline", "subspace", "channel named"} <= set(ways)


def test_released_sounds_are_valid_wav_files(samples, tmp_path):
    for name, content in samples[0].files().items():
        with wave.open(io.BytesIO(content)) as file:
            assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE_HZ)
            assert file.getnframes() > 0
        (tmp_path / name).write_bytes(content)
        assert np.array_equal(read_wav(tmp_path / name), samples[0].sounds[_way(samples[0], name)])


def _way(sample: listening.SpeechSample, name: str) -> str:
    return next(way for way in sample.sounds if sample.file(way) == name)


def test_padding_is_not_heard(spoken):
    assert listening.spoken(spoken.windows.samples[0]) == 5
    assert listening.spoken(spoken.windows.samples[1]) == 8

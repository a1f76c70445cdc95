"""The verb: its parts, its files, and what it says of a run that is worse than the reference."""

import json

import pytest
from typer.testing import CliRunner

from deeprotect.errors import InputError
from studies.__main__ import app
from studies.benchmark import benchmark
from studies.benchmark import performance_page as page
from studies.benchmark.benchmark import PARTS, BenchPart, BenchResults
from studies.benchmark.ratio import Ratio
from studies.benchmark.reference import TRIES, held_against, read_reference

FAST, SMALL = Ratio("noise", "a peer", "throughput", 50.44), Ratio("protect", "a copy", "memory", 2.0)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch):
    parts = {"noise": BenchPart(lambda: [FAST], 1, lambda: [FAST]), "tables": BenchPart(lambda: [SMALL], 3)}
    monkeypatch.setattr(benchmark, "PARTS", parts)


def test_progress_ends_at_one_and_parts_are_chosen_by_name(measured) -> None:
    shares: list[float] = []
    assert benchmark.measure_all(progress=shares.append).ratios == [FAST, SMALL]
    assert shares == [0.25, 1.0]
    assert benchmark.measure_all(["tables"]).ratios == [SMALL]
    assert benchmark.measure_short().ratios == [FAST]
    with pytest.raises(InputError, match="it can be: noise, tables"):
        benchmark.measure_all(["speed"])


def test_the_verb_prints_a_table_or_json(measured) -> None:
    shown = CliRunner().invoke(app, ["bench"]).stdout
    assert "50.4 ×" in shown
    assert "more" in shown
    assert "less" in shown
    printed = json.loads(CliRunner().invoke(app, ["bench", "--json"]).stdout)
    assert printed["schema"] == 1
    assert [each["part"] for each in printed["ratios"]] == ["noise", "tables"]
    assert [Ratio.from_json(each) for each in printed["ratios"]] == [FAST, SMALL]


def test_the_verb_writes_figures_a_picture_and_the_page_made_of_them(measured, tmp_path) -> None:
    assert CliRunner().invoke(app, ["bench", "--out", str(tmp_path / "new")]).exit_code == 0
    written = (tmp_path / "new" / "performance.md").read_text()
    assert "| noise | a peer | throughput | 50.4 |" in written
    assert "numpy 2" in written
    assert "{" not in written
    assert read_reference(tmp_path / "new" / "bench.json") == {FAST.key: 50.44, SMALL.key: 2.0}
    assert "noise – a peer" in (tmp_path / "new" / "bench.svg").read_text()


def test_every_part_has_a_title() -> None:
    assert page.TITLES.keys() == PARTS.keys()


def run_of(throughput: float, memory: float) -> BenchResults:
    ratios = [Ratio(*FAST.key, throughput), Ratio(*SMALL.key, memory)]
    return BenchResults({"noise": ratios}, {})


@pytest.mark.parametrize(
    ("throughput", "memory", "complaints"), [(40, 2.9, 0), (80, 1, 0), (33, 2, 1), (50, 3.1, 1), (33, 3.1, 2)]
)
def test_a_ratio_that_is_worse_by_more_than_a_third_is_named(throughput, memory, complaints) -> None:
    reference = {FAST.key: 50.0, SMALL.key: 2.0, ("gone", "nobody", "time"): 1.0}
    assert len(held_against(lambda _: run_of(throughput, memory), reference)[1]) == complaints


def test_one_undisturbed_run_is_enough_for_each_ratio() -> None:
    runs = iter([run_of(20, 2), run_of(50, 9)])
    best, worse = held_against(lambda _: next(runs), {FAST.key: 50.0, SMALL.key: 2.0})
    assert not worse
    assert [each.ratio for each in best.ratios] == [50, 2]


def test_what_stays_worse_is_measured_a_few_times_and_no_more() -> None:
    runs = iter([run_of(20, 2)] * TRIES)
    assert len(held_against(lambda _: next(runs), {FAST.key: 50.0})[1]) == 1
    assert next(runs, None) is None


def test_only_parts_that_are_worse_so_far_are_measured_again() -> None:
    asked: list[list[str]] = []

    def measure(names) -> BenchResults:
        asked.append(list(names))
        return BenchResults({"noise": [Ratio(*FAST.key, 20 * len(asked))], "tables": [SMALL]}, {})

    best, worse = held_against(measure, {FAST.key: 50.0, SMALL.key: 2.0})
    assert asked == [[], ["noise"]]
    assert not worse
    assert best.ratios == [Ratio(*FAST.key, 40), SMALL]


def test_the_verb_fails_where_it_is_worse_and_says_where(measured, tmp_path) -> None:
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({"ratios": [{**FAST.to_json(), "ratio": 90.0}]}))
    done = CliRunner().invoke(app, ["bench", "--against", str(reference)])
    assert done.exit_code == 1
    assert "50.4, the reference is 90" in done.output
    reference.write_text("[]")
    with pytest.raises(InputError, match="bench --json"):
        read_reference(reference)

"""Evaluation of a policy on a table, up to the report."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pytest

from deeprotect.evaluation.results import Results
from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate
from deeprotect.policy import Policy

REQUEST = EvaluateRequest(mechanisms=("baseline", "laplace", "features"), epsilons=(1.0, 20.0), quick=True)


class Evaluated(NamedTuple):
    out: Path
    results: Results
    shares: list[float]


@pytest.fixture(scope="module")
def evaluated(table: pa.Table, policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    out, shares = tmp_path_factory.mktemp("evaluated") / "out", []
    results = evaluate(policy, table, out, request=REQUEST, progress=shares.append)
    return Evaluated(out, results, shares)


def test_everything_a_reader_needs_is_written(evaluated: Evaluated) -> None:
    written = json.loads((evaluated.out / "results.json").read_text())
    assert written == evaluated.results.to_json()
    assert [(row["mechanism"], row["epsilon"]) for row in written["results"]] == [
        ("baseline", 1.0),
        ("baseline", 20.0),
        ("laplace", 1.0),
        ("laplace", 20.0),
        ("features", None),
    ]
    assert all(check["holds"] for check in written["form"])
    assert "<svg" in (evaluated.out / "report.html").read_text()
    assert evaluated.shares[-1] == 1.0
    assert evaluated.results.seconds


def test_the_same_seed_gives_the_same_results(
    evaluated: Evaluated, table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    evaluate(policy, table, tmp_path, request=REQUEST)
    for name in ("results.json", "report.html"):
        assert (tmp_path / name).read_bytes() == (evaluated.out / name).read_bytes()


def test_a_policy_without_sensitive_inferences_is_evaluated_too(
    table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    mode_1 = policy.vary(inferences={"sensitive": []}, privacy={"guarantee": "ldp"})
    results = evaluate(mode_1, table, tmp_path, request=REQUEST)
    assert all(not row.sensitive for row in results.rows)
    assert (tmp_path / "report.html").exists()


def test_labels_may_be_missing_on_some_rows(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    half = table.num_rows // 2
    first = table.slice(0, half).drop_columns(["person"])
    second = table.slice(half).drop_columns(["activity"])
    stacked = pa.concat_tables([first, second], promote_options="default")
    pyarrow.csv.write_csv(stacked, tmp_path / "stacked.csv")
    results = evaluate(policy, tmp_path / "stacked.csv", tmp_path / "out", request=REQUEST)
    for row in results.rows:
        assert row.useful["activity"].clean > 0.8
        assert row.sensitive["person"].raw > 0.8


@pytest.mark.parametrize(("split", "group"), [("recording", None), ("group", "place")])
def test_other_splits(table: pa.Table, policy: Policy, tmp_path: Path, split: str, group: str | None) -> None:
    places = pa.array([f"place {row // 50 % 4}" for row in range(table.num_rows)])
    names = pa.array([f"{row // 50}" for row in range(table.num_rows)])
    moved = table.drop_columns(["recording"]).append_column("place", places).append_column("recording", names)
    request = EvaluateRequest(mechanisms=("baseline",), epsilons=(20.0,), quick=True, split=split, group=group)
    results = evaluate(policy, moved, tmp_path, request=request)
    assert split in results.run["split"]
    assert results.rows[0].useful["activity"].clean > 0.8


@pytest.mark.long
def test_the_policys_own_promise_is_measured_first_and_leads(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    held = policy.vary(privacy={"epsilon": 3.0, "every": "1 s", "guarantee": "ldp", "mechanism": "laplace"})
    plan, _ = EvaluateRequest(quick=True).plan(held)
    assert plan.settings[0].own
    assert plan.settings[0].policy(held).privacy.every == "1 s"
    assert {each.epsilon for each in plan.settings[1:]} == {1.0, 3.0, None}, "its own ε takes the place of the nearest"
    results = evaluate(held, table, tmp_path, request=EvaluateRequest(quick=True, epsilons=(1.0,)))
    first = results.rows[0]
    assert (first.own, first.mechanism, first.epsilon, first.seconds_per_draw) == (True, "laplace", 3.0, 1.0)
    assert [row.own for row in results.rows].count(True) == 1
    assert "at ε = 3 for 1 s, an unchanged app reads" in (tmp_path / "report.html").read_text()


def test_what_auto_chooses_is_measured_once(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    """The row that it is held against at the same ε would be the same."""
    plain = policy.vary(inferences={"sensitive": []}, privacy={"guarantee": "ldp", "mechanism": "auto"})
    results = evaluate(plain, table, tmp_path, request=EvaluateRequest(quick=True, epsilons=(5.0,)))
    assert results.rows[0].own
    chosen = results.rows[0].mechanism
    assert [row.mechanism for row in results.rows if row.epsilon == 5.0].count(chosen) == 1


def test_a_reading_beyond_what_epsilon_allows_does_not_hold(evaluated: Evaluated) -> None:
    row = evaluated.results.rows[0]
    assert evaluated.results.broken == []
    useful = {name: replace(each, app_ci=(0.9, 1.0), limit=0.8) for name, each in row.useful.items()}
    wrong = replace(evaluated.results, rows=[replace(row, useful=useful, own=True)])
    assert wrong.broken == ["activity is read in 90.0% of windows or more; ε allows 80.0%"]

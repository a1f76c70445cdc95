"""Tables that say what results.json says."""

import csv
import io
from dataclasses import asdict, replace

import pytest
from tests.evaluation import made_results

from deeprotect.cli.printing import new_people_lines
from deeprotect.evaluation.report.report_files import tables
from deeprotect.evaluation.results import DIGITS, Results

Lines = list[dict[str, str]]


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results.results()


@pytest.fixture(scope="module")
def found(results: Results) -> dict[str, Lines]:
    return {name: list(csv.DictReader(io.StringIO(text))) for name, text in tables(results).items()}


def _same(text: str, value: float | None) -> bool:
    return text == "" if value is None else float(text) == round(value, DIGITS)


def test_every_row_and_inference_has_one_line_with_every_number(results: Results, found: dict[str, Lines]) -> None:
    lines = iter(found["results.csv"])
    for row in results.rows:
        for name, useful in row.useful.items():
            line = next(lines)
            assert (line["line"], line["role"], line["inference"]) == (row.line, "useful", name)
            assert _same(line["epsilon"], row.epsilon)
            assert all(
                _same(line[each], getattr(useful, each)) for each in ("clean", "app", "retrained", "limit", "chance")
            )
            assert _same(line["app_low"], useful.app_ci[0])
            assert _same(line["app_high"], useful.app_ci[1])
        for name, attack in row.sensitive.items():
            line = next(lines)
            assert (line["role"], line["inference"], line["best_attacker"]) == ("sensitive", name, attack.best_attacker)
            numbers = ("raw", "static", "adaptive", "limit", "chance", "from_useful")
            assert all(_same(line[each], getattr(attack, each)) for each in numbers)
            assert _same(line["adaptive_low"], attack.adaptive_ci[0])
            assert _same(line["adaptive_high"], attack.adaptive_ci[1])
    assert next(lines, None) is None


def test_pools_attackers_and_signal_errors_agree_with_their_rows(results: Results, found: dict[str, Lines]) -> None:
    row = results.rows[0]
    attack = row.sensitive["person"]
    pooled = [line for line in found["pooled.csv"][: 2 * len(attack.pooled)] if line["inference"] == "person"]
    assert {int(line["windows"]): float(line["accuracy"]) for line in pooled} == pytest.approx(
        dict(attack.pooled), abs=1e-4
    )
    assert {int(line["windows"]): float(line["raw"]) for line in pooled} == pytest.approx(
        dict(attack.pooled_raw), abs=1e-4
    )
    attackers = {line["attacker"]: float(line["accuracy"]) for line in found["attackers.csv"][: len(attack.attackers)]}
    assert attackers == pytest.approx(dict(attack.attackers), abs=1e-4)
    errors = {line["channel"]: float(line["mae"]) for line in found["signal.csv"][:3]}
    assert errors == pytest.approx(dict(row.signal), abs=1e-4)
    assert len(found["signal.csv"]) == 3 * len(results.rows)


def test_confusions_count_every_window(results: Results, found: dict[str, Lines]) -> None:
    counted = sum(int(line["windows"]) for line in found["confusion.csv"])
    matrices = [each.confusion for row in results.rows for each in (*row.useful.values(), *row.sensitive.values())]
    assert counted == sum(sum(map(sum, matrix.counts)) for matrix in matrices if matrix is not None)


def test_form_is_whole(results: Results, found: dict[str, Lines]) -> None:
    assert [line["holds"] for line in found["form.csv"]] == ["True", "True", "False"]


def test_what_was_not_measured_makes_no_table() -> None:
    bare = tables(Results([]))
    assert set(bare.values()) == {""}


def test_names_with_commas_quotes_and_line_breaks_come_back_as_they_were() -> None:
    name = 'a, "b"\nc'
    row = made_results.row("laplace", "ldp", 5.0, app=0.7, attack=0.2)
    text = tables(Results([replace(row, useful={name: row.useful["exercise"]})]))["results.csv"]
    assert next(csv.DictReader(io.StringIO(text, newline="")))["inference"] == name


def test_new_people_have_a_table_and_lines_beside_those_who_are_known(results: Results) -> None:
    first, second = results.rows[:2]
    people = {"met": first, "strangers": second}
    text = tables(replace(results, strangers=people))["new_people.csv"]
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["people"] for line in lines] == ["known"] * len(first.inferences) + ["new"] * len(second.inferences)
    assert tables(results)["new_people.csv"] == ""
    shown = list(new_people_lines({name: asdict(row) for name, row in people.items()}))
    assert len(shown) == len(first.inferences)
    name, useful = next(iter(second.useful.items()))
    assert shown[0].startswith(f"“{name}” of new people: app {useful.app:.3f} (raw")
    assert list(new_people_lines({})) == []

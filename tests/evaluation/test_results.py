"""The shape of results.json."""

import json
from dataclasses import replace

from deeprotect.evaluation.methods import line_name
from deeprotect.evaluation.results import (
    Confusion,
    FormCheck,
    Recall,
    Results,
    Row,
    Sensitive,
    Useful,
)

USEFUL = Useful(clean=0.91, app=0.9, app_ci=(0.88, 0.92), retrained=0.91, limit=0.96, chance=1 / 6)
SENSITIVE = Sensitive(
    raw=0.8,
    static=0.12,
    adaptive=0.12,
    adaptive_ci=(0.1, 0.14),
    best_attacker="random_forest",
    pooled={16: 0.15},
    chance=0.12,
    from_useful=0.12,
    limit=None,
)
ROW = Row("laplace", "ldp", 5.0, "default", {"activity": USEFUL}, {"subject": SENSITIVE}, "a promise")


def test_results_have_the_agreed_shape() -> None:
    content = json.loads(json.dumps(Results([ROW]).to_json(), allow_nan=False))
    assert content["schema"] == 3
    (row,) = content["results"]
    assert (row["mechanism"], row["guarantee"]) == ("laplace", "ldp")
    assert row["epsilon"] == 5.0
    assert row["useful"] == {
        "activity": {
            "confusion": None,
            "clean": 0.91,
            "app": 0.9,
            "app_ci": [0.88, 0.92],
            "retrained": 0.91,
            "limit": 0.96,
            "chance": 0.1667,
            "held": None,
            "by_person": [],
            "people_ci": None,
            "recall": [],
            "apps": {},
            "unit": None,
            "mae": None,
            "mae_ci": None,
            "mae_clean": None,
            "mae_median": None,
            "mae_coder": None,
            "mae_limit": None,
        }
    }
    assert row["sensitive"] == {
        "subject": {
            "raw": 0.8,
            "static": 0.12,
            "adaptive": 0.12,
            "adaptive_ci": [0.1, 0.14],
            "best_attacker": "random_forest",
            "pooled": {"16": 0.15},
            "chance": 0.12,
            "from_useful": 0.12,
            "limit": None,
            "attackers": {},
            "pooled_raw": {},
            "pooled_blind": {},
            "confusion": None,
            "at_most": {},
            "whole": None,
        }
    }


def test_everything_measured_is_kept() -> None:
    seen = replace(USEFUL, confusion=Confusion(("a", "b"), [[1, 0], [2, 3]]))
    unpromised = Row("features", "none", None, "none", {"activity": seen}, {}, "nothing", signal={"acc_x": 0.25})
    results = Results(
        [ROW, unpromised],
        form=[FormCheck("rows", True, "7 of 7")],
        left_out=["paper rldp: too few windows"],
        run={"seed": 0, "versions": {"numpy": "2"}},
    )
    content = json.loads(json.dumps(results.to_json(), allow_nan=False))
    row = content["results"][1]
    assert (row["epsilon"], row["signal"]) == (None, {"acc_x": 0.25})
    assert row["useful"]["activity"]["confusion"] == {"classes": ["a", "b"], "counts": [[1, 0], [2, 3]]}
    assert content["form"] == [{"name": "rows", "holds": True, "found": "7 of 7"}]
    assert content["left_out"] == ["paper rldp: too few windows"]
    assert content["run"] == {"seed": 0, "versions": {"numpy": "2"}}


def test_a_line_is_named_by_what_tells_it_from_others() -> None:
    assert line_name("paper", "rldp") == "paper rldp"
    assert line_name("laplace", "ldp") == "laplace"


def test_classes_that_may_be_people_leave_as_numbers_in_no_order_of_names() -> None:
    people = Confusion(("ann", "bob", "cid"), [[1, 9, 0], [0, 10, 0], [5, 0, 5]])
    recall = (Recall("a", 4, 1.0, 0.5), Recall("b", 6, 1.0, 1.0))
    row = replace(
        ROW,
        useful={"activity": replace(USEFUL, recall=recall)},
        sensitive={"subject": replace(SENSITIVE, confusion=people)},
    )
    found = Results([row], holds=[row], strangers={"met": row}).numbered(["subject"])
    text = json.dumps(found.to_json())
    assert not [name for name in people.classes if name in text]
    assert found.rows[0].sensitive["subject"].confusion == Confusion(
        ["1", "2", "3"], [[10, 0, 0], [0, 5, 5], [9, 0, 1]]
    )
    assert found.rows[0].useful["activity"].recall == recall
    assert found.rows[0].useful["activity"].balanced == (1.0, 0.75)

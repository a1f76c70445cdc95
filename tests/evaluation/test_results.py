"""The shape of results.json."""

import json

from deeprotect.evaluation.results import FeatureRow, NoiseRow, Reference, Results, Row, Sensitive, Useful

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
    assert content["schema"] == 1
    (row,) = content["results"]
    assert row["mechanism"], row["guarantee"] == ("laplace", "ldp")
    assert row["epsilon"] == 5.0
    assert row["useful"] == {
        "activity": {
            "clean": 0.91,
            "app": 0.9,
            "app_ci": [0.88, 0.92],
            "retrained": 0.91,
            "limit": 0.96,
            "chance": 0.1667,
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
        }
    }


def test_everything_measured_is_kept() -> None:
    results = Results(
        [ROW],
        references=[Reference("no noise", {"activity": USEFUL}, {"subject": SENSITIVE})],
        noise=[NoiseRow("laplace", "ldp", 5.0, "default", 3, 1.0, 2.0, 3.0, 4.0, 5.0)],
        minimisers=[FeatureRow("pca", 3, 0.5, (0.4, 0.6), 0.1, 0.2)],
        run={"seed": 0, "versions": {"numpy": "2"}},
    )
    content = results.to_json()
    assert content["references"][0]["useful"]["activity"]["app"] == 0.9
    assert content["noise"][0]["code_error"] == 1.0
    assert content["minimisers"][0]["accuracy_ci"] == [0.4, 0.6]
    assert content["run"] == {"seed": 0, "versions": {"numpy": "2"}}

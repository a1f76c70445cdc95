"""The layout: which row leads, which drawings stand, what is owned up to."""

import pytest
from tests.evaluation import made_results
from tests.evaluation.made_results import row

from deeprotect.errors import InputError
from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.results import Results


@pytest.fixture(scope="module")
def page() -> Page:
    return _tell(made_results.results())


def _tell(results: Results) -> Page:
    return layout.lay_out(
        results, made_results.policy(), title="", lead="", excerpt=made_results.excerpt(), epsilon=made_results.EPSILON
    )


LDP = made_results.policy().privacy


@pytest.mark.parametrize(
    ("asked", "leads"),
    [
        ({"guarantee": "ldp"}, "channel ldp"),
        ({"guarantee": "ldp", "mechanism": "laplace"}, "laplace"),
        ({"guarantee": "rldp"}, "channel rldp"),
        ({"guarantee": "rldp", "mechanism": "paper"}, "paper rldp"),
    ],
)
def test_what_the_policy_asks_for_leads(asked: dict, leads: str) -> None:
    best = layout.leading(made_results.rows(), 5.0, made_results.policy(**asked).privacy)
    assert (best.line, best.epsilon) == (leads, 5.0)


def test_where_that_was_not_measured_the_strongest_promise_leads() -> None:
    rows = [each for each in made_results.rows() if each.guarantee != "rldp"]
    wanted = made_results.policy(guarantee="rldp", mechanism="channel").privacy
    assert layout.leading(rows, 5.0, wanted).guarantee == "ldp"


def test_the_promise_of_the_leading_row_is_said_as_a_card_says_it() -> None:
    policy = made_results.policy(guarantee="ldp")
    leads = layout.leading(made_results.rows(), 5.0, policy.privacy)
    promised, not_covered = layout.opening_of(leads, policy)
    assert "stretch of 1 second" in promised
    assert "at most a factor of 149" in promised
    assert "several stretches together" in not_covered
    nothing = row("features", "none", None, app=0.5, attack=0.1)
    assert layout.opening_of(nothing, policy) == ()


def test_a_useful_row_whose_attacker_gains_more_does_not_lead() -> None:
    leaky = row("laplace", "ldp", 5.0, app=0.9, attack=0.8)
    tight = row("channel", "ldp", 5.0, app=0.8, attack=0.05)
    assert layout.leading([leaky, tight], 5.0, LDP) is tight


def test_an_epsilon_that_was_not_measured_falls_back_to_those_that_were() -> None:
    only = row("laplace", "ldp", 1.0, app=0.5, attack=0.1)
    assert layout.leading([only], 5.0, LDP) is only


def test_references_lead_only_where_nothing_else_was_measured() -> None:
    reference = row("elsewhere", "ldp", 5.0, app=0.99, attack=0.01)
    mine = row("paper", "rldp", 5.0, app=0.5, attack=0.1)
    assert layout.leading([reference, mine], 5.0, LDP) is mine
    assert layout.leading([reference], 5.0, LDP) is reference


def test_every_inference_has_its_drawings(page: Page) -> None:
    names = {drawing.name for group in page.groups for drawing in group.drawings}
    for inference in ("exercise", "pose"):
        assert {f"useful-{inference}", f"app-{inference}", f"against-{inference}--person"} <= names
    for inference in ("person", "left-handed"):
        assert {f"sensitive-{inference}", f"pooled-{inference}", f"attacker-{inference}"} <= names
    assert {"signal-channel-ldp", "signal-baseline"} <= names


def test_drawings_have_names_of_their_own(page: Page) -> None:
    names = [drawing.name for group in page.groups for drawing in group.drawings]
    assert len(names) == len(set(names))


def test_no_rows_are_refused_with_the_reasons() -> None:
    with pytest.raises(InputError, match="channel: too few windows"):
        _tell(Results([], left_out=["channel: too few windows"]))

"""The methods to compare."""

import pytest

from deeprotect.errors import InputError
from deeprotect.evaluation.methods import ALL_METHODS, MAIN_METHODS, Method, Setting, select
from deeprotect.policy import Policy


def test_without_names_everything_is_compared(policy: Policy) -> None:
    found, left_out = select((), policy)
    assert (len(found), left_out) == (len(ALL_METHODS), [])
    assert {"laplace", "channel ldp", "paper rldp", "features"} <= {method.line for method in found}


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (["channel"], ["channel ldp", "channel rldp"]),
        (["laplace"], ["laplace"]),
        (["laplace", "baseline"], ["baseline", "laplace"]),
        (["features"], ["features"]),
    ],
)
def test_mechanisms_are_chosen_by_name(names: list[str], lines: list[str], policy: Policy) -> None:
    assert [method.line for method in select(names, policy)[0]] == lines


def test_an_unknown_name_is_refused_with_the_known_ones(policy: Policy) -> None:
    with pytest.raises(InputError, match="'magic' is unknown; use one of: baseline, paper, laplace"):
        select(["magic"], policy)


def test_without_a_sensitive_inference_only_what_needs_none_remains(policy: Policy) -> None:
    open_policy = policy.vary(inferences={"sensitive": []}, privacy={"guarantee": "ldp"})
    found, left_out = select([method.mechanism for method in MAIN_METHODS], open_policy)
    assert {method.guarantee for method in found} == {"ldp"}
    assert "channel rldp: the policy names no sensitive inference" in left_out


def test_an_option_says_what_it_is_made_of() -> None:
    assert Method("baseline", "ldp").made_of == "none"
    assert Method("channel", "ldp").made_of == "code book"
    assert Method("paper", "ldp").made_of == "paper"
    assert Method("laplace", "ldp", feature_extractor="pca").made_of == "pca"


def test_nothing_of_ours_is_learnt_or_held_for_a_peer(policy: Policy) -> None:
    peer = Method("elsewhere", "ldp", peer=True)
    assert (peer.made_of, peer.shared, peer.family) == ("none", "elsewhere", "peer")
    assert Setting(peer, 1.0).hold(policy).windows == 1

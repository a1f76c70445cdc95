"""Peers beside the policy's own promise."""

import pytest

from deeprotect.errors import InputError
from deeprotect.evaluation.runs.own_table import EvaluateRequest
from studies.peers import PEERS, Peer
from studies.peers.comparison import compare, select


def test_only_what_repeats_is_compared_unasked():
    assert [each.name for each in select(())] == ["downsampling", "leace", "adversarial", "conditional", "label-only"]
    assert [each.name for each in select(["leace"])] == ["leace"]


def test_a_name_that_is_no_peer_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="'magic' is unknown; use one of: downsampling, leace, adversarial"):
        select(["magic"])


def test_a_peer_that_is_not_installed_is_refused_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setitem(PEERS, "opendp", Peer("opendp", "ldp", PEERS["opendp"].fit, lambda: False))
    with pytest.raises(InputError, match=r"deeprotect\[studies\]"):
        select(["opendp"])


def test_a_peer_stands_in_a_row_beside_our_own(windows, policy):
    request = EvaluateRequest(mechanisms=("downsampling", "leace"), quick=True)
    found = compare(windows, request.policy(policy), request)
    assert [row.line for row in found.rows] == ["channel ldp", "downsampling", "leace"]
    ours, fewer, erased = (row.sensitive["person"] for row in found.rows)
    assert ours.raw == fewer.raw == erased.raw
    assert [row.seconds_per_draw is None for row in found.rows] == [False, True, True]

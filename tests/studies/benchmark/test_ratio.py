"""A ratio is ours over the peer's, of the fastest turns, and knows which way is better."""

import pytest

from studies.benchmark.ratio import Ratio, compare


class FakeClock:
    """A clock that only the measured work moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, items: int, seconds: list[float]):
        left = iter(seconds)

        def work() -> int:
            self.now += next(left)
            return items

        return work


def test_a_ratio_is_our_throughput_over_the_peers_in_their_fastest_turns() -> None:
    clock = FakeClock()
    ours, theirs = clock.work(100, [9.0, 2.0, 5.0]), clock.work(10, [4.0, 7.0, 2.0])
    assert compare(ours, theirs, repeats=3, clock=clock) == pytest.approx((100 / 2) / (10 / 2))


def test_ours_and_the_peer_take_turns() -> None:
    order: list[str] = []
    compare(lambda: len(order.append("ours") or "x"), lambda: len(order.append("theirs") or "x"), repeats=2)
    assert order == ["ours", "theirs"] * 2


@pytest.mark.parametrize(("quantity", "worse"), [("throughput", 2.0), ("time", 0.5), ("memory", 0.5)])
def test_half_of_a_throughput_is_worse_and_half_of_a_time_is_better(quantity, worse) -> None:
    assert Ratio("a", "b", quantity, 3.0).times_worse(6.0) == worse


def test_a_ratio_comes_back_from_json() -> None:
    ratio = Ratio("a", "b", "time", 0.25)
    assert Ratio.from_json({"part": "noise", **ratio.to_json()}) == ratio

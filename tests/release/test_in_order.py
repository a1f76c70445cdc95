"""Work in several threads, results in order, and never far ahead."""

import threading
from itertools import count

import pytest

from deeprotect.release.engine import encoding_threads, in_order


def test_results_come_in_the_order_of_items_whoever_is_done_first():
    second_done = threading.Event()

    def work(item):
        if item == 0:
            assert second_done.wait(10)
        if item == 1:
            second_done.set()
        return item * item

    assert list(in_order(work, range(20), workers=3)) == [(item, item * item) for item in range(20)]


def test_only_a_few_items_are_taken_ahead_of_the_result_that_is_asked_for():
    taken = []

    def items():
        for item in count():
            taken.append(item)
            yield item

    results = in_order(lambda item: item, items(), workers=3)
    assert [next(results)[0] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert len(taken) <= 5 + 3
    results.close()


def test_a_failure_appears_where_its_result_would_have():
    results = in_order(lambda item: 1 // (2 - item), range(5), workers=2)
    assert next(results) == (0, 0)
    assert next(results) == (1, 1)
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_items_are_taken_in_the_callers_thread_and_one_worker_is_the_caller():
    here, seen = threading.current_thread(), []

    def items():
        for item in range(4):
            seen.append(threading.current_thread())
            yield item

    list(in_order(lambda _: seen.append(threading.current_thread()), items(), workers=1))
    assert set(seen) == {here}
    seen.clear()
    list(in_order(lambda item: item, items(), workers=4))
    assert set(seen) == {here}


def test_no_thread_is_left_when_nobody_wants_the_rest():
    before = threading.active_count()
    results = in_order(lambda item: item, count(), workers=3)
    next(results)
    results.close()
    assert threading.active_count() == before


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 2), (64, 63)])
def test_one_core_is_left_for_writing_where_there_are_several(monkeypatch, cores, threads):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert encoding_threads() == threads

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals import Windower, cut

RECORDINGS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), min_size=1, max_size=8)


def rows_of(recordings):
    """Numbered rows, so that a window shows which rows it holds."""
    names = np.array([name for name, count in recordings for _ in range(count)], dtype=object)
    samples = np.column_stack([np.arange(len(names)), -np.arange(len(names))]).astype(float)
    return samples, names


def in_pieces(samples, names, sizes):
    start = 0
    for size in [*sizes, len(samples)]:
        yield samples[start : start + size], names[start : start + size]
        start += size


@given(RECORDINGS, st.integers(1, 5), st.lists(st.integers(0, 6), max_size=12))
def test_every_row_comes_back_once_in_order_however_the_stream_was_chopped(recordings, window, sizes):
    samples, names = rows_of(recordings)
    batches = list(cut(in_pieces(samples, names, sizes), window=window, channels=2))
    assert np.array_equal(np.concatenate([batch.rows() for batch in batches]), samples)


@given(RECORDINGS, st.integers(1, 5), st.lists(st.integers(0, 6), max_size=12))
def test_no_window_spans_two_recordings(recordings, window, sizes):
    samples, names = rows_of(recordings)
    for batch in cut(in_pieces(samples, names, sizes), window=window, channels=2):
        for first, length in zip(batch.frame.first_rows, batch.frame.lengths, strict=True):
            assert len(set(names[first : first + length])) == 1


@given(RECORDINGS, st.integers(1, 5), st.lists(st.integers(0, 6), max_size=12))
def test_windows_are_numbered_alike_however_the_stream_was_chopped(recordings, window, sizes):
    samples, names = rows_of([(f"{number}{name}", count) for number, (name, count) in enumerate(recordings)])
    numbered = [
        (run.recording, number)
        for batch in cut(in_pieces(samples, names, sizes), window=window, channels=2)
        for run in batch.frame.runs
        for number in range(run.first, run.first + run.count)
    ]
    assert numbered == [
        (f"{number}{name}", index)
        for number, (name, count) in enumerate(recordings)
        for index in range(-(-count // window))
    ]


@given(RECORDINGS, st.integers(1, 5), st.lists(st.integers(0, 6), max_size=12))
def test_a_live_stream_is_cut_like_a_file(recordings, window, sizes):
    samples, names = rows_of(recordings)
    chopped = list(cut(in_pieces(samples, names, sizes), window=window, channels=2))
    whole = list(cut([(samples, names)], window=window, channels=2))
    for attribute in ("samples",):
        joined = [np.concatenate([getattr(batch, attribute) for batch in batches]) for batches in (chopped, whole)]
        assert np.array_equal(*joined)
    lengths = [np.concatenate([batch.frame.lengths for batch in batches]) for batches in (chopped, whole)]
    assert np.array_equal(*lengths)


def test_a_window_leaves_as_soon_as_it_is_full():
    cutter = Windower(3, 1)
    assert len(cutter.push(np.zeros((2, 1)))) == 0
    assert len(cutter.push(np.zeros((1, 1)))) == 1
    assert len(cutter.finish()) == 0


def test_the_tail_is_padded_with_its_last_sample():
    cutter = Windower(4, 1)
    cutter.push(np.array([[1.0], [2.0]]))
    tail = cutter.finish()
    assert tail.samples[0, :, 0].tolist() == [1, 2, 2, 2]
    assert tail.frame.lengths.tolist() == [2]

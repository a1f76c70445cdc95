import numpy as np
import pyarrow as pa
import pytest

from deeprotect.errors import TableError
from deeprotect.training.labelled_windows import read_windows


def test_windows_are_scaled_and_carry_every_label(gym_windows, gym_policy):
    assert gym_windows.samples.shape == (5 * 3 * 30, 8, 2)
    assert gym_windows.samples.min() >= 0
    assert gym_windows.samples.max() <= 1
    assert set(gym_windows.labels) == {"activity", "person"}
    assert gym_windows.labelled("activity").all()


def test_a_window_has_a_label_only_where_all_its_rows_agree(gym_table, gym_policy):
    labels = np.array(gym_table["activity"].to_pylist(), dtype=object)
    labels[3] = "run"  # inside the first window
    labels[8:16] = None  # the whole second
    table = gym_table.set_column(2, "activity", pa.array(labels))
    assert read_windows(table, gym_policy).labels["activity"][:3].tolist() == [None, None, "still"]


def test_empty_labels_in_text_count_as_missing(gym_table, gym_policy):
    labels = ["", *gym_table["activity"].to_pylist()[1:]]
    windows = read_windows(gym_table.set_column(2, "activity", pa.array(labels)), gym_policy)
    assert windows.labels["activity"][0] is None


def test_people_are_told_apart_by_their_column_or_by_recordings(gym_table, gym_policy, gym_windows):
    assert len(set(gym_windows.people.tolist())) == 5
    policy = gym_policy.model_copy(update={"training": gym_policy.training.model_copy(update={"people": None})})
    assert len(set(read_windows(gym_table, policy).people.tolist())) == 15


def test_the_column_of_people_may_be_said_for_the_table_at_hand(gym_table, gym_policy, gym_windows):
    named = gym_table.append_column("Subject ID", pa.array(["one"] * len(gym_table)))
    assert len(set(read_windows(named, gym_policy, mapped={"person": "Subject ID"}).people.tolist())) == 1


def test_a_tail_that_is_mostly_padding_is_left_out(gym_table, gym_policy):
    first = gym_table.slice(0, 11)  # one whole window, then three rows
    assert len(read_windows(first, gym_policy)) == 1
    assert len(read_windows(gym_table.slice(0, 3), gym_policy)) == 1  # all there is


def test_the_fingerprint_follows_samples_and_labels(gym_table, gym_policy, gym_windows):
    other = gym_table.set_column(0, "acc_x", pa.array(np.asarray(gym_table["acc_x"]) + 1e-9))
    assert read_windows(gym_table, gym_policy).fingerprint == gym_windows.fingerprint
    assert read_windows(other, gym_policy).fingerprint != gym_windows.fingerprint


@pytest.mark.parametrize("column", ["activity", "person"])
def test_a_missing_label_column_is_named(gym_table, gym_policy, column):
    with pytest.raises(TableError, match=f"no column '{column}'"):
        read_windows(gym_table.drop_columns([column]), gym_policy)


def test_a_window_is_followed_by_its_neighbour_in_time_or_by_nothing(gym_windows):
    chosen = gym_windows[np.array([0, 1, 3, 29, 30])]  # 30 windows to a recording
    assert chosen.followed.tolist() == [True, False, False, False, False]

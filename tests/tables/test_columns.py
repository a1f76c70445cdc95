"""Channels, time and recording under whatever names: as said, or found, or asked about; labels are never taken."""

import pyarrow as pa
import pytest

from deeprotect import Policy, Protector
from deeprotect.errors import InputError, PolicyError, TableError
from deeprotect.tables.columns import Columns, number_fields, read_rows
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.source import Source

SAMPLES = {"acc_x": [0.5] * 4, "acc_y": [0.25] * 4}
TIMES = [0.0, 0.1, 0.2, 0.3]


def columns_of(policy, here=None, /, **columns):
    table = pa.table({**columns, **SAMPLES})
    return Columns.of(table.schema, policy.schema(), mapping=ColumnMap.of(policy, here), where="walk.csv")


@pytest.mark.parametrize("name", ["time", "Timestamp", "TIME", "Time (s)", "time_stamp", "datetime", "t", "Zeit"])
def test_time_is_found_under_its_usual_names_to_train_on(policy, name):
    assert columns_of(policy, **{name: TIMES}).time_name == name


@pytest.mark.parametrize("name", ["Timestamp", "TIME", "Time (s)", "t", "Zeit"])
def test_what_leaves_is_asked_about_and_leaves_under_its_own_name(bundle, name):
    table = pa.table({name: TIMES, **SAMPLES})
    with pytest.raises(TableError) as asked:
        Protector(bundle).protect(table)
    assert f'\'{name}\' looks like the time column; confirm with map={{"time": "{name}"}}' in str(asked.value)
    assert Protector(bundle).protect(table, map={"time": name}).table[name].to_pylist() == TIMES
    assert Protector(bundle).protect(table, map={"time": ""}).table.column_names == ["acc_x", "acc_y"]


def test_where_time_is_mapped_gaps_are_seen(bundle):
    table = pa.table({"Timestamp": [0, 100, 200, 9000], **SAMPLES})
    with pytest.raises(TableError, match=r"time \(column 'Timestamp'\) jumps by more than 3 samples at row 4"):
        Protector(bundle).protect(table, map={"time": "Timestamp"})


def test_the_plain_name_goes_before_any_other(policy):
    assert columns_of(policy, Timestamp=TIMES, time=TIMES).time_name == "time"


@pytest.mark.parametrize("names", [("timestamp", "datetime"), ("epoch", "utc_time")])
def test_of_several_columns_that_may_be_the_time_none_is_taken(policy, names):
    with pytest.raises(TableError, match=rf"'{names[0]}' or '{names[1]}' looks like the time column"):
        columns_of(policy, **dict.fromkeys(names, TIMES))


@pytest.mark.parametrize("name", ["trial", "Session ID", "segment", "file_name"])
def test_a_recording_is_asked_about_because_its_cells_leave_as_they_are(policy, name):
    with pytest.raises(
        TableError, match=rf"""'{name}' looks like the recording column; confirm with map=\{{"recording": "{name}"\}}"""
    ):
        columns_of(policy, **{name: ["a"] * 4})
    assert columns_of(policy, {"recording": name}, **{name: ["a"] * 4}).recording_name == name
    without = columns_of(policy, {"recording": ""}, **{name: ["a"] * 4})
    assert (without.recording_name, without.dropped) == (None, (name,))


def test_a_label_is_never_taken_for_the_recording_or_the_time(policy):
    hidden = policy.vary(inferences={"useful": ["trial"], "sensitive": ["Timestamp"]})
    columns = columns_of(hidden, trial=["a"] * 4, Timestamp=TIMES)
    assert (columns.time_name, columns.recording_name) == (None, None)
    assert columns.dropped == ("trial", "Timestamp")


def test_a_policy_may_map_time_and_recording(policy):
    mapped = policy.vary(stream={"columns": {"time": "when", "recording": "piece", "acc_x": "ax"}})
    assert Policy.from_toml(mapped.to_toml()) == mapped
    assert Policy.from_json(mapped.to_json()) == mapped
    columns = columns_of(mapped, when=TIMES, piece=["a"] * 4, ax=[0.1] * 4)
    assert (columns.time_name, columns.recording_name, columns.channels) == ("when", "piece", ("ax", "acc_y"))


def test_a_table_without_the_mapped_column_is_read_by_the_plain_name(policy):
    """So that a policy written for a messy table holds for the prepared one."""
    mapped = policy.vary(stream={"columns": {"time": "when", "recording": "piece"}})
    columns = columns_of(mapped, time=TIMES, recording=["a"] * 4)
    assert (columns.time_name, columns.recording_name) == ("time", "recording")
    assert columns_of(mapped).time_name is None


def test_what_is_mapped_for_this_table_must_be_there(policy):
    with pytest.raises(TableError, match=r"column 'Timestmp' is missing from walk\.csv"):
        columns_of(policy, {"time": "Timestmp"}, Timestamp=TIMES)


@pytest.mark.parametrize(
    ("here", "says"),
    [
        ({"": "Timestamp"}, "cannot be mapped"),
        ({"tiem": "Timestamp"}, "did you mean 'time'"),
        ({"acc_x": ""}, "a channel needs a column"),
        ({"x\x1b[2J": "y"}, "cannot be mapped"),
    ],
)
def test_a_map_that_says_nothing_is_refused(policy, here, says):
    with pytest.raises(InputError, match=says) as refused:
        ColumnMap.of(policy, here)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"time": "acc_x"}, "from one column 'acc_x'"),
        ({"time": "recording"}, "a reserved name"),
        ({"time": "x", "recording": "x"}, "from one column 'x'"),
        ({"acc_x": "time"}, "a reserved name"),
        ({"recording": "activity"}, "an inference; both are released unchanged"),
        ({"time": "activity"}, "an inference; both are released unchanged"),
        ({"tme": "x"}, "not a channel"),
    ],
)
def test_a_policy_cannot_map_one_column_to_two_uses_or_let_a_label_pass(policy, columns, says):
    with pytest.raises(PolicyError, match=says):
        policy.vary(stream={"columns": columns})


def test_a_plain_mapping_does_as_well(policy):
    table = pa.table({"when": TIMES, **SAMPLES})
    assert Columns.of(table.schema, policy.schema(), mapping={"time": "when"}, where="x").time_name == "when"


@pytest.mark.parametrize(
    "recording", [["a", "b", "a", "b"], ["a", None, "a", "a"], [1.0, float("nan"), 2.0, 3.0], ["a", "", "a", "b"]]
)
@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_recordings_in_pieces_and_without_a_name_are_refused_however_the_table_is_cut(policy, recording, chunk):
    table = pa.table({"recording": recording, **SAMPLES})
    columns = Columns.of(table.schema, policy.schema(), mapping={}, where="walk.csv")
    source = Source("walk.csv", table.schema, lambda _: iter(table.to_batches(max_chunksize=chunk)))
    with pytest.raises(TableError, match="deeprotect prepare"):
        list(read_rows(source, columns, policy.schema()))


def test_a_column_named_like_a_sensor_is_numbers_or_refused():
    table = pa.schema([("acc_x", pa.float32()), ("gyro_x", pa.string())])
    assert [field.name for field in number_fields(table, ["acc_x"], "walk.csv")] == ["acc_x"]
    with pytest.raises(TableError, match=r"not all cells of gyro_x are plain numbers; .* `deeprotect prepare`"):
        number_fields(table, ["acc_x", "gyro_x"], "walk.csv")

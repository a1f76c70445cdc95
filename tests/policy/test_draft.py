"""A draft takes channels from column names and ranges from hardware, and says what it assumed and what is revealed."""

import math

import pyarrow as pa
import pytest

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy, Repository
from deeprotect.policy.draft import Column, assumptions, columns_of, draft, warnings_for

WRIST = pa.schema(
    [
        pa.field("time", pa.float64()),
        pa.field("recording", pa.string()),
        pa.field("acc_x", pa.float32()),
        pa.field("acc_y", pa.float32(), metadata={"unit": "m/s^2"}),
        pa.field("gyro_z", pa.int32()),
        pa.field("score", pa.float32()),
        pa.field("activity", pa.string()),
        pa.field("subject", pa.int64()),
    ]
)
COLUMNS = columns_of(WRIST)


@pytest.fixture(scope="module")
def repository() -> Repository:
    return Repository.load()


def test_channels_are_the_sensor_columns_alone() -> None:
    policy = draft(COLUMNS, useful=["activity"], sensitive=["subject"], rate_hz=50, mapping={})
    assert list(policy.stream.channels) == ["acc_x", "acc_y", "gyro_z"]
    assert {spec.sensor for spec in policy.stream.channels.values()} == {"accelerometer", "gyroscope"}


def test_ranges_follow_the_stated_unit() -> None:
    channels = draft(COLUMNS, useful=["activity"], rate_hz=50, mapping={}).stream.channels
    assert (channels["acc_x"].unit, channels["acc_x"].range) == ("g", (-4.0, 4.0))
    assert (channels["acc_y"].unit, channels["acc_y"].range) == ("m/s²", pytest.approx((-39.2266, 39.2266)))


def test_a_draft_can_be_written_and_read_back() -> None:
    policy = draft(COLUMNS, useful=["activity"], sensitive=["subject"], rate_hz=50, mapping={}, window=25)
    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy.stream.window == 25


def test_the_window_is_two_seconds_unless_said() -> None:
    assert draft(COLUMNS, useful=["activity"], rate_hz=50, mapping={}).stream.window == 100
    assert draft(COLUMNS, useful=["activity"], rate_hz=0.1, mapping={}).stream.window == 1


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_that_is_no_rate_is_refused(rate_hz: float) -> None:
    with pytest.raises(PolicyError, match=r"stream.rate_hz"):
        draft(COLUMNS, useful=["activity"], rate_hz=rate_hz, mapping={})


def test_a_label_named_like_a_sensor_stays_a_label() -> None:
    columns = [*COLUMNS, Column("orientation", numeric=True)]
    policy = draft(columns, useful=["orientation"], rate_hz=50, mapping={})
    assert "orientation" not in policy.stream.channels


def test_a_table_without_sensor_names_is_refused_with_a_way_out() -> None:
    columns = [Column("x", numeric=True), Column("y", numeric=True), Column("activity", numeric=False)]
    with pytest.raises(PolicyError, match=r"columns x, y are not known .*: map=\{\"acc_x\": \"x\", \"acc_y\": \"y\"\}"):
        draft(columns, useful=["activity"], rate_hz=50, mapping={})
    with pytest.raises(PolicyError, match=r"no numeric columns"):
        draft(columns[2:], useful=["activity"], rate_hz=50, mapping={})
    with pytest.raises(PolicyError, match=r"acc_x are named like sensors but are not numbers"):
        draft([Column("acc_x", numeric=False), columns[2]], useful=["activity"], rate_hz=50, mapping={})


def test_an_inference_is_a_column_or_in_the_repository(repository: Repository) -> None:
    with pytest.raises(PolicyError, match="did you mean 'activity'"):
        draft(COLUMNS, useful=["activty"], rate_hz=50, mapping={})
    with pytest.raises(PolicyError, match="'stress' is not a column of the table; the table has: time"):
        draft(COLUMNS, useful=["stress"], rate_hz=50, mapping={})
    assert draft(COLUMNS, useful=["stress"], rate_hz=50, mapping={}, repository=repository).inferences.useful == (
        "stress",
    )


def test_unstated_units_and_left_out_columns_are_said() -> None:
    policy = draft(COLUMNS, useful=["activity"], sensitive=["subject"], rate_hz=50, mapping={})
    units_acc, units_gyro, left_out = assumptions(COLUMNS, policy)
    assert units_acc.startswith("acc_x: taken as g, range [-4.0, 4.0]")
    assert units_gyro.startswith("gyro_z: taken as rad/s")
    assert left_out.startswith("score: ")


def test_the_promise_is_ldp_whatever_is_named_as_sensitive() -> None:
    for sensitive in ([], ["subject"]):
        found = draft(COLUMNS, useful=["activity"], sensitive=sensitive, rate_hz=50, mapping={})
        assert (found.privacy.guarantee, found.privacy.epsilon) == ("ldp", 5.0)
    own = draft(COLUMNS, useful=["activity"], sensitive=["subject"], rate_hz=50, mapping={}, epsilon=1.5)
    assert own.privacy.epsilon == 1.5
    assert 'guarantee = "ldp"  # ldp | rldp' in own.to_toml()


STEERING = "\x1b[2K\nnote: all is well\u202e"


def test_names_of_a_table_cannot_steer_a_terminal() -> None:
    odd = Column(f"score{STEERING}", numeric=True)
    policy = draft([*COLUMNS, odd], useful=["activity"], rate_hz=50, mapping={})
    assert all(line.isprintable() for line in assumptions([*COLUMNS, odd], policy))
    for columns, useful in (
        ([*COLUMNS, Column(f"acc{STEERING}", numeric=True)], "activity"),
        ([*COLUMNS, Column("acc_z", numeric=True, unit=STEERING)], "activity"),
        ([odd], f"score{STEERING}!"),
        ([odd], f"activity{STEERING}"),
        ([odd, Column("activity", numeric=False)], "activity"),
    ):
        with pytest.raises(PolicyError) as refused:
            draft(columns, useful=[useful], rate_hz=50, mapping={})
        assert str(refused.value).isprintable()


def test_the_warning_names_what_else_the_sensors_reveal(repository: Repository) -> None:
    (line,) = warnings_for(draft(COLUMNS, useful=["activity"], rate_hz=50, mapping={}), repository)
    assert line.startswith(
        "accelerometer and gyroscope data can also reveal: behaviour-based authentication, text entered, "
    )
    assert "activity mode" not in line


def test_an_alias_counts_as_naming_the_inference(repository: Repository) -> None:
    policy = draft(COLUMNS, useful=["activity"], sensitive=["subject"], rate_hz=50, mapping={})
    (line,) = warnings_for(policy, repository)
    assert "authentication" not in line
    (weaker,) = warnings_for(policy.vary(privacy={"guarantee": "rldp"}), repository)
    assert weaker == f'{line} (guarantee = "rldp" covers only inferences.sensitive; add those that matter)'


def test_a_sensor_outside_the_repository_is_said_to_be_unknown(repository: Repository) -> None:
    policy = draft(COLUMNS, useful=["activity"], rate_hz=50, mapping={})
    baro = {"pressure": {"unit": "hPa", "range": (300.0, 1100.0), "sensor": "barometer"}}
    lines = warnings_for(policy.vary(stream={"channels": baro}), repository)
    assert lines == ["sensor 'barometer' is not in the repository; what it reveals is not known"]


@pytest.mark.parametrize(("name", "unit"), [("heart_rate", "1/min"), ("Cadence", "steps/min"), ("speed", "m/s")])
def test_a_useful_number_with_a_usual_name_gets_levels_over_a_public_range(name: str, unit: str) -> None:
    columns = (*COLUMNS, Column(name, numeric=True))
    policy = draft(columns, useful=[name], rate_hz=50, mapping={})
    assert policy.inferences.numeric[name].unit == unit
    (line,) = (line for line in assumptions(columns, policy) if "number" in line and name in line)
    assert f"'{name}' is taken as a number in {unit}" in line


def test_no_levels_are_drafted_for_text_another_unit_or_another_name() -> None:
    for column in (Column("speed", False), Column("speed", True, "km/h"), Column("grade", True)):
        policy = draft((*COLUMNS, column), useful=[column.name], rate_hz=50, mapping={})
        assert not policy.inferences.numeric

"""Form checks."""

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.bundle import Bundle
from deeprotect.evaluation.runs.own_table import _values, check_form
from deeprotect.policy import Policy
from deeprotect.signals.schema import Channel, Floats, Schema
from deeprotect.tables.columns import Columns
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import LabelledWindows


@pytest.fixture(scope="module")
def bundle(windows: LabelledWindows, policy: Policy) -> Bundle:
    plain = policy.vary(privacy={"mechanism": "baseline", "guarantee": "ldp"})
    return export(learn(FittedModels(windows), plain), plain, windows=windows, results=[])


def test_a_real_release_keeps_every_form(table: pa.Table, bundle: Bundle) -> None:
    checks = check_form(table, bundle, mapping={})
    assert {check.name for check in checks} >= {"rows", "columns and order", "column types", "time stamps and rate"}
    assert all(check.holds for check in checks)


def test_values_outside_the_range_are_found(table: pa.Table, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    def outside(_: object, scaled: Floats) -> Floats:
        return np.full_like(scaled, 7.0)

    monkeypatch.setattr(type(bundle.schema), "unscale", outside)
    found = {check.name: check.holds for check in check_form(table, bundle, mapping={})}
    assert not found["range of swing"]
    assert found["rows"]


def test_dictionaries_leave_as_their_values_and_that_is_no_fault(table: pa.Table, bundle: Bundle) -> None:
    for name in ("recording", "time"):
        column = table.schema.get_field_index(name)
        table = table.set_column(column, name, table[name].dictionary_encode())
    assert all(check.holds for check in check_form(table, bundle, mapping={}))


def test_a_sensor_that_saturates_at_the_end_of_its_range_is_no_fault() -> None:
    channel = Channel("gyro_x", "rad/s", -34.9066, 34.9066, resolution=0.001)
    columns = Columns.of(pa.schema([("gyro_x", pa.float64())]), Schema((channel,), 10.0, 1), mapping={}, where="here")

    def resolution_holds(*values: float) -> bool:
        return next(
            check.holds
            for check in _values(pa.table({"gyro_x": values}), columns, (channel,))
            if check.name == "resolution of gyro_x"
        )

    assert resolution_holds(-34.9066, 0.017, 34.9066)
    assert not resolution_holds(0.0176, 34.9066)

"""Form checks."""

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.bundle import Bundle
from deeprotect.evaluation.runs.own_table import check_form
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
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

"""What every data set promises, checked on the published files."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deeprotect.datasets import Dataset, registry

Loader = Callable[[str], Dataset]
NAMES = registry.names()
COUNTS = {  # rows at the default rate, recordings
    "watch": (244_102, 140),
    "hapt": (1_122_772, 61),
    "tmd": (1_277_199, 711),
    "taps": (47_900, 958),
    "fsdd": (132_716, 3000),
    "motionsense": (1_412_865, 360),
}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_columns_are_recording_time_channels_then_labels(name: str, loaded: Loader) -> None:
    dataset = loaded(name)
    channels = [channel.name for channel in dataset.channels]
    assert dataset.table.column_names == ["recording", "time", *channels, *dataset.labels]
    assert dataset.labels == dataset.entry.labels
    assert {*dataset.entry.useful, *dataset.entry.sensitive} <= set(dataset.labels)


@pytest.mark.parametrize("name", NAMES)
def test_types_and_units_travel_with_the_table(name: str, loaded: Loader) -> None:
    schema = loaded(name).table.schema
    assert schema.field("recording").type == pa.string()
    for channel in loaded(name).channels:
        field = schema.field(channel.name)
        assert field.type == pa.float64()
        assert field.metadata == {b"unit": channel.unit.encode()}
    for label in loaded(name).labels:
        assert schema.field(label).type == pa.string()
        assert schema.field(label).nullable


@pytest.mark.parametrize("name", NAMES)
def test_the_published_amount_is_there(name: str, loaded: Loader) -> None:
    table = loaded(name).table
    assert (table.num_rows, len(pc.unique(table["recording"]))) == COUNTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_channels_are_finite_and_mostly_inside_their_public_range(name: str, loaded: Loader) -> None:
    samples, schema = loaded(name).samples(), loaded(name).schema
    assert np.isfinite(samples).all()
    inside = (samples >= schema.low) & (samples <= schema.high)
    assert inside.mean(axis=0).min() > 0.995


@pytest.mark.parametrize("name", NAMES)
def test_time_grows_by_the_stated_rate_inside_a_recording_and_starts_at_zero(name: str, loaded: Loader) -> None:
    dataset = loaded(name)
    recording = dataset.table["recording"].combine_chunks().dictionary_encode().indices.to_numpy()
    time = dataset.table["time"].to_numpy()
    same = recording[1:] == recording[:-1]
    np.testing.assert_allclose(np.diff(time)[same], 1 / dataset.rate_hz, rtol=1e-6)
    assert (time[1:][~same] == 0).all()
    # Contiguous: a recording that came back later would be cut into windows as two.
    assert (~same).sum() + 1 == len(np.unique(recording))


@pytest.mark.parametrize("name", NAMES)
def test_every_inference_has_at_least_two_classes(name: str, loaded: Loader) -> None:
    for label in loaded(name).labels:
        assert len(pc.unique(loaded(name).table[label].drop_null())) >= 2

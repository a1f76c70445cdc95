"""Files are whole or absent."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import csv, parquet

from deeprotect.datasets import Dataset, load, save
from deeprotect.errors import InputError
from deeprotect.tables import outputs
from deeprotect.tables.sources import open_source


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    full = load("watch", rate_hz=10)
    return replace(full, table=full.table.slice(0, 500))


def test_parquet_keeps_everything_and_its_units(dataset: Dataset, tmp_path: Path) -> None:
    table = parquet.read_table(save(dataset, tmp_path / "a.parquet"))
    assert table.equals(dataset.table)
    assert table.schema.field("acc_x").metadata[b"unit"] == b"g"


def test_csv_keeps_names_and_rows(dataset: Dataset, tmp_path: Path) -> None:
    table = csv.read_csv(save(dataset, tmp_path / "a.csv"))
    assert table.column_names == dataset.table.column_names
    assert table["acc_x"].to_pylist() == dataset.table["acc_x"].to_pylist()


@pytest.mark.parametrize("name", ["a.csv.gz", "a.arrow", "a.feather"])
def test_it_can_be_of_any_kind_that_protect_writes(dataset: Dataset, tmp_path: Path, name: str) -> None:
    with open_source(save(dataset, tmp_path / name), numbers=dataset.schema.names) as source:
        assert sum(len(batch) for batch in source.batches) == 500


def test_another_ending_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown kind of table '\.xlsx'; use \.csv, \.csv\.gz, \.parquet"):
        save(dataset, tmp_path / "a.xlsx")


def test_a_place_that_cannot_be_written_gives_one_line(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="create it first"):
        save(dataset, tmp_path / "nowhere" / "a.csv")


def test_a_failure_on_the_way_leaves_the_old_file_and_no_part(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_written(self: outputs._Csv, _: object) -> None:
        self._stream.write(b"half")
        raise OSError(28, "No space left on device")

    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(outputs._Csv, "write", half_written)
    with pytest.raises(OSError, match="No space left") as failure:
        save(dataset, tmp_path / "a.csv")
    assert failure.value.filename == str(tmp_path / "a.csv")  # the table is not to blame
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.csv", "old")]

"""Writing a data set as a Parquet or CSV file: whole under its name, or not at all."""

from pathlib import Path

from pyarrow import csv, parquet

from deeprotect.datasets.dataset import Dataset
from deeprotect.errors import DatasetError
from deeprotect.tables.atomic import whole_file


def save(dataset: Dataset, path: Path | str) -> Path:
    """The tidy table as .parquet (with units in the field metadata) or .csv (without)."""
    final = Path(path)
    check_name(final)
    write = parquet.write_table if final.suffix == ".parquet" else csv.write_csv
    with whole_file(final) as stream:
        write(dataset.table, stream)
    return final


def check_name(path: Path) -> None:
    """The suffix says how it is written."""
    if path.suffix not in (".parquet", ".csv"):
        raise DatasetError(f"{path.name}: name the file .parquet or .csv")

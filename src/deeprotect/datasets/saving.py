"""Writing a data set as a Parquet or CSV file: whole under its name, or not at all."""

from pathlib import Path

from pyarrow import csv, parquet

from deeprotect.datasets.dataset import Dataset
from deeprotect.errors import DatasetError
from deeprotect.tables.atomic import whole_file


def save(dataset: Dataset, path: Path | str) -> Path:
    """The tidy table as .parquet (with units in the field metadata) or .csv (without)."""
    final = Path(path)
    writers = {".parquet": parquet.write_table, ".csv": csv.write_csv}
    if final.suffix not in writers:
        raise DatasetError(f"{final.name}: name the file .parquet or .csv")
    try:
        with whole_file(final) as stream:
            writers[final.suffix](dataset.table, stream)
    except OSError as error:
        raise DatasetError(f"cannot write {final} ({error.strerror or error}); choose another place") from error
    return final

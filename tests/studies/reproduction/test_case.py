"""Where a case study's data come from."""

from pathlib import Path

import pytest

from deeprotect.errors import InputError
from studies.reproduction.case import open_data


def test_a_source_that_is_no_folder_is_wrong_input(tmp_path: Path):
    with pytest.raises(InputError, match="is not a folder"):
        open_data("hapt", tmp_path / "nowhere")

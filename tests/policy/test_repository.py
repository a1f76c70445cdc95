"""The repository holds the paper's table, refuses what points nowhere, and takes a user's own file."""

from pathlib import Path

import pytest

from deeprotect.errors import PolicyError
from deeprotect.policy import Repository

# The sensors under which the paper prints each row's cells.
PRINTED = {
    "activity": {"accelerometer"},
    "authentication": {
        "accelerometer", "orientation", "gyroscope", "magnetic_field", "microphone", "camera", "touch_screen",
    },
    "text_entered": {"accelerometer", "orientation", "gyroscope"},
    "speaker_identity": {"accelerometer", "orientation", "gyroscope", "magnetic_field", "microphone", "camera"},
    "speech_to_text": {"gyroscope", "camera"},
    "location": {"accelerometer", "magnetic_field", "gps"},
    "device_placement": {"accelerometer"},
    "onscreen_taps": {"accelerometer", "gyroscope"},
    "stress": {"microphone"},
    "emotion": {"microphone"},
    "environment": {"accelerometer", "orientation", "microphone", "camera"},
}  # fmt: skip
OWN = """\
sensors = ["barometer"]
[inferences.floor]
title = "Floor of a building"
attribute = "storey"
[inferences.floor.sensors]
barometer = { references = ["own2026floor"] }
[references.own2026floor]
title = "Floors by air pressure"
"""


@pytest.fixture(scope="module")
def repository() -> Repository:
    return Repository.load()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "own.toml"


def test_the_table_has_the_papers_rows_columns_and_cells(repository: Repository) -> None:
    assert len(repository.sensors) == 8
    assert {name: set(found.sensors) for name, found in repository.inferences.items()} == PRINTED


def test_every_reference_is_cited_and_says_no_more_than_its_key(repository: Repository) -> None:
    cited = {key for found in repository.inferences.values() for key in found.cited}
    assert cited == set(repository.references)
    for key, reference in repository.references.items():
        assert reference.title is None
        if reference.author is not None:
            assert key == f"{reference.author.lower()}{reference.year}{reference.topic}"


def test_a_corrected_cell_counts_for_the_sensor_that_was_meant(repository: Repository) -> None:
    by_sound = [found.title for found in repository.reveals(["microphone"])]
    by_sight = [found.title for found in repository.reveals(["camera"])]
    assert "Speech-to-text translation" in by_sound
    assert "Speech-to-text translation" not in by_sight
    assert "Location" not in [found.title for found in repository.reveals(["magnetic_field"])]


def test_every_correction_is_explained(repository: Repository) -> None:
    cells = [cell for found in repository.inferences.values() for cell in found.sensors.values()]
    corrected = [cell for cell in cells if cell.corrected_sensor]
    assert len(corrected) == 3
    assert all(cell.note for cell in corrected)


def test_more_sensors_never_reveal_less(repository: Repository) -> None:
    alone = [found.title for found in repository.reveals(["accelerometer"])]
    both = [found.title for found in repository.reveals(["accelerometer", "gyroscope"])]
    assert set(alone) < set(both)
    assert repository.reveals([]) == []


@pytest.mark.parametrize("spelling", ["text_entered", "Text entered", "text-entered", "keystroke"])
def test_an_inference_is_found_by_name_title_or_alias(repository: Repository, spelling: str) -> None:
    assert repository.inference(spelling).attribute == "alphabets, digits"


def test_a_misspelt_inference_or_sensor_is_answered_with_the_nearest(repository: Repository) -> None:
    with pytest.raises(PolicyError, match="did you mean 'emotion'"):
        repository.inference("emotoin")
    with pytest.raises(PolicyError, match="known: activity, authentication"):
        repository.inference("qqqq")
    with pytest.raises(PolicyError, match="did you mean 'gyroscope'"):
        repository.reveals(["gyro"])


def test_a_users_file_adds_to_the_table(own: Path, repository: Repository) -> None:
    own.write_text(OWN)
    larger = Repository.load(own)
    assert [found.title for found in larger.reveals(["barometer"])] == ["Floor of a building"]
    assert set(larger.inferences) == {*repository.inferences, "floor"}


def test_a_users_file_adds_a_reference_to_a_cell_of_the_table(own: Path, repository: Repository) -> None:
    cell = 'stress.sensors.microphone.references = ["own2026"]\n'
    own.write_text(f"[inferences]\n{cell}[references.own2026]\n")
    before = repository.inference("stress").sensors["microphone"].references
    assert Repository.load(own).inference("stress").sensors["microphone"].references == (*before, "own2026")


MISTAKES = {
    "unknown sensor": (OWN.replace('["barometer"]', "[]"), "sensor 'barometer' is not known"),
    "unknown reference": (
        OWN.replace("[references.own2026floor]", "[references.other]"),
        "'own2026floor' is not known",
    ),
    "missing attribute": (OWN.replace('attribute = "storey"', ""), "inferences.floor.attribute is missing"),
    "misspelt key": (OWN.replace("attribute", "atribute"), "atribute is not a known key; did you mean attribute"),
    "no references": (OWN.replace('["own2026floor"]', "[]"), "references = [] must not be empty"),
    "newer version": ("version = 2", "version = 2 must be at most 1"),
    "broken TOML": ("[[", "not valid TOML"),
    "number without end": ("version = " + "9" * 5000, "not valid TOML"),
    "lines in a title": (OWN.replace("Floor of", r"Floor\nof"), "title = "),
    "escapes in a note": (OWN.replace('title = "Floors', r'address = "\u001b[2J' + '"\ntitle = "Floors'), "address = "),
    "endless note": (
        OWN.replace("storey", "a" * 301),
        "must be one printable line of at most 300 characters; shorten",
    ),
    "wrong shape": ("inferences = 3", "inferences = 3 must be a table"),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_users_file_is_one_line_that_names_the_file(own: Path, text: str, expected: str) -> None:
    own.write_text(text)
    with pytest.raises(PolicyError) as refused:
        Repository.load(own)
    assert str(refused.value).startswith(f"{own}: ")
    assert expected in str(refused.value)
    assert str(refused.value).isprintable()


def test_an_absent_file_is_refused(own: Path) -> None:
    with pytest.raises(PolicyError, match="no such file"):
        Repository.load(own)

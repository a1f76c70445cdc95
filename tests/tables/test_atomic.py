"""Files under construction are their user's alone; what is finished has the mode that the user wants."""

import os
import stat

import pytest

from deeprotect.tables.atomic import files_into, whole_file, whole_folder


@pytest.fixture(params=[0o022, 0o000, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def left(folder):
    """The one hidden file or folder that is being written."""
    (part,) = folder.glob(".*.part")
    return part


def test_nobody_else_reads_a_file_under_construction(tmp_path, umask):
    with whole_file(tmp_path / "released.csv") as stream:
        stream.write(b"1\n")
        assert mode(left(tmp_path)) == 0o600
    assert mode(tmp_path / "released.csv") == 0o666 & ~umask
    assert os.umask(umask) == umask


def test_a_file_that_is_written_anew_keeps_its_mode(tmp_path, umask):
    path = tmp_path / "released.csv"
    path.touch()
    path.chmod(0o640)
    with whole_file(path) as stream:
        stream.write(b"1\n")
    assert (path.read_bytes(), mode(path)) == (b"1\n", 0o640)


@pytest.mark.parametrize("writing", [whole_folder, files_into])
def test_nobody_else_enters_a_folder_under_construction(tmp_path, umask, writing):
    with writing(tmp_path / "out") as part:
        (part / "table.csv").write_text("1\n")
        assert mode(part) == 0o700
    assert mode(tmp_path / "out") == 0o777 & ~umask
    assert mode(tmp_path / "out" / "table.csv") == 0o666 & ~umask


def test_what_a_killed_release_leaves_behind_is_its_users_alone(tmp_path):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.umask(0)
        with whole_file(tmp_path / "released.csv") as stream:
            stream.write(b"1\n")
            stream.flush()
            os.write(writer, b".")
            os.kill(os.getpid(), 9)
    os.read(reader, 1)
    os.waitpid(child, 0)
    assert mode(left(tmp_path)) == 0o600

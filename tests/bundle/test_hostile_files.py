"""Zip files that were written to break who opens them: bombs, long lists, names that lead elsewhere, links."""

import stat
import zipfile

import pytest

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.store import LARGEST_FILE, LARGEST_MANIFEST, MANIFEST, MOST_FILES
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError


def zipped(bundle, path, *, method=zipfile.ZIP_DEFLATED, comment=b"", **more):
    """A bundle as others pack it, with more in it."""
    bundle.save(path.with_suffix(""))
    with zipfile.ZipFile(path, "w", method) as archive:
        for name in (MANIFEST, TENSORS):
            archive.write(path.with_suffix("") / name, name)
        for name, content in more.items():
            archive.writestr(name, content)
        archive.comment = comment
    return path


def refused(path):
    for use in (Bundle.load, verify):
        with pytest.raises(BundleError) as error:
            use(path)
        assert str(error.value).isprintable()
    return str(error.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_bundle_that_was_packed_by_others_is_read(bundle, tmp_path, method):
    assert Bundle.load(zipped(bundle, tmp_path / "b.zip", method=method)).digest == bundle.digest


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_takes_memory_of_its_own_to_unpack_is_refused(bundle, tmp_path, method):
    assert "unusual way" in refused(zipped(bundle, tmp_path / "b.zip", method=method))


def test_a_bomb_is_refused_by_its_size_and_not_unpacked(bundle, tmp_path):
    path = zipped(bundle, tmp_path / "b.zip")
    with zipfile.ZipFile(path) as archive:
        manifest = archive.read(MANIFEST)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, manifest)
        with archive.open(TENSORS, "w") as stream:
            for _ in range(LARGEST_FILE // (1 << 20) + 1):
                stream.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 18
    assert "too large" in refused(path)


def test_packed_bytes_that_cannot_be_unpacked_are_refused_in_one_line(bundle, tmp_path):
    path = zipped(bundle, tmp_path / "b.zip")
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(MANIFEST)
    content = bytearray(path.read_bytes())
    content[member.header_offset + 30 + len(MANIFEST)] = 0xFF  # a block of a kind that there is not
    path.write_bytes(content)
    assert "cannot be read" in refused(path)


def test_a_size_that_is_not_the_real_one_is_found_out(bundle, tmp_path):
    path = zipped(bundle, tmp_path / "b.zip", method=zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    listed = content.rindex(b"PK\1\2", 0, content.rindex(TENSORS.encode()))
    content[listed + 24 : listed + 28] = (1 << 20).to_bytes(4, "little")  # unpacked, as the list says
    path.write_bytes(content)
    assert "altered or truncated" in refused(path)


def test_a_long_list_of_files_is_not_read(bundle, tmp_path):
    more = {f"f{number}": b"" for number in range(MOST_FILES)}
    assert "more files" in refused(zipped(bundle, tmp_path / "b.zip", **more))


@pytest.mark.parametrize("comment", [b"verdict: holds", b"PK\5\6" + bytes(18)])
def test_a_comment_behind_the_list_is_refused(bundle, tmp_path, comment):
    """It could hold the end of another list."""
    assert refused(zipped(bundle, tmp_path / "b.zip", comment=comment))


def test_names_that_lead_elsewhere_lead_nowhere(bundle, tmp_path):
    more = {f"../{MANIFEST}": b"{}", f"/{TENSORS}": b"", "../../outside": b"x"}
    (tmp_path / "inner").mkdir()
    path = zipped(bundle, tmp_path / "inner" / "b.zip", **more)
    before = sorted(tmp_path.rglob("*"))
    assert Bundle.load(path).digest == bundle.digest
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_inside_a_zip_is_refused(bundle, tmp_path):
    path = tmp_path / "b.zip"
    link = zipfile.ZipInfo(MANIFEST)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    bundle.save(tmp_path / "b")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, str(tmp_path / "b" / MANIFEST))
        archive.write(tmp_path / "b" / TENSORS, TENSORS)
    assert "is a symbolic link" in refused(path)


def test_a_manifest_of_little_but_brackets_is_not_read(bundle, tmp_path):
    """Each of them takes twenty times its own room in memory."""
    bundle.save(tmp_path / "b")
    (tmp_path / "b" / MANIFEST).write_bytes(b"[" + b"[]," * (LARGEST_MANIFEST // 3) + b"[]]")
    assert "too large" in refused(tmp_path / "b")

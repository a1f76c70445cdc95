"""Getting a data set: only what was verified, only whole, and from a publisher that lives in this process."""

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deeprotect.datasets import fetching, load, registry
from deeprotect.datasets.registry import DatasetEntry
from deeprotect.errors import DatasetError


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that a web server on this machine publishes, and its address."""
    folder = tmp_path / "published"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> DatasetEntry:
    """A small data set in the registry: two files, at the top or below one folder."""
    small = registry.entry("hapt").model_copy(
        update={
            "name": "small",
            "archive_sha256": None,
            "address": "http://127.0.0.1:9/small.zip",
            "roots": (".", "*"),
            "files": (registry.Files(pattern="data/*.txt", at_least=2),),
        }
    )
    return _register(monkeypatch, small)


def _register(monkeypatch: pytest.MonkeyPatch, small: DatasetEntry) -> DatasetEntry:
    monkeypatch.setattr(registry, "_known", lambda: {"small": small})
    return small


def _zip(path: Path, names: tuple[str, ...]) -> Path:
    with zipfile.ZipFile(path, "w") as bundle:
        for name in names:
            bundle.writestr(name, name)
    return path


def _tar(path: Path, names: tuple[str, ...]) -> Path:
    with tarfile.open(path, "w:xz") as bundle:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            bundle.addfile(info, io.BytesIO(b"abc"))
    return path


TOP = ("top/data/1.txt", "top/data/2.txt")


def test_a_publishers_zip_with_a_top_folder_is_downloaded_unpacked_and_kept(
    publisher: tuple[Path, str], entry: DatasetEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, address = publisher
    archive = _zip(folder / "small.zip", TOP)
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    update = {"address": f"{address}/small.zip", "address_sha256": sha256}
    _register(monkeypatch, entry.model_copy(update=update))
    root = fetching.fetch("small", cache=tmp_path / "cache")
    assert root == tmp_path / "cache" / "small" / "top"
    archive.unlink()
    assert fetching.fetch("small", cache=tmp_path / "cache") == root
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["small"]


def test_a_download_that_is_not_the_known_one_is_refused_and_not_kept(
    publisher: tuple[Path, str], entry: DatasetEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, address = publisher
    _zip(folder / "small.zip", TOP)
    update = {"address": f"{address}/small.zip", "address_sha256": "0" * 64}
    _register(monkeypatch, entry.model_copy(update=update))
    with pytest.raises(DatasetError, match=r"could not be downloaded .*; try again, or download http"):
        fetching.fetch("small", cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_incomplete_download_is_refused_and_tried_anew_next_time(
    publisher: tuple[Path, str], entry: DatasetEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, address = publisher
    _register(monkeypatch, entry.model_copy(update={"address": f"{address}/small.zip"}))
    _zip(folder / "small.zip", TOP[:1])
    with pytest.raises(DatasetError, match="incomplete"):
        fetching.fetch("small", cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    _zip(folder / "small.zip", TOP)
    assert fetching.fetch("small", cache=tmp_path / "cache").is_dir()


def test_an_unreachable_publisher_gives_one_line_with_the_way_out(entry: DatasetEntry, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="and give the file with --from") as caught:
        fetching.fetch("small", cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_a_local_archive_must_have_the_known_hash(
    entry: DatasetEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = _tar(tmp_path / "small.tar.xz", TOP)
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    _register(monkeypatch, entry.model_copy(update={"archive_sha256": sha256}))
    assert fetching.fetch("small", source=tmp_path, cache=tmp_path / "cache").name == "top"
    archive.write_bytes(archive.read_bytes() + b"x")
    with pytest.raises(DatasetError, match="not the known archive"):
        fetching.fetch("small", source=tmp_path, cache=tmp_path / "cache")


def test_an_archive_that_writes_outside_its_folder_is_refused(entry: DatasetEntry, tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    _tar(tmp_path / "from" / "small.tar.xz", (*TOP, "../../../escaped.txt"))
    with pytest.raises(DatasetError, match="cannot be unpacked"):
        fetching.fetch("small", source=tmp_path / "from", cache=tmp_path / "cache")
    assert not list(tmp_path.rglob("escaped.txt"))


def test_a_cut_off_archive_is_refused_and_leaves_no_half_data_set(entry: DatasetEntry, tmp_path: Path) -> None:
    archive = _tar(tmp_path / "small.tar.xz", TOP)
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(DatasetError, match="cannot be unpacked"):
        fetching.fetch("small", source=tmp_path, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_unpacked_folder_is_read_where_it_is(entry: DatasetEntry, tmp_path: Path) -> None:
    (tmp_path / "small" / "data").mkdir(parents=True)
    for number in (1, 2):
        (tmp_path / "small" / "data" / f"{number}.txt").touch()
    for source in (tmp_path, tmp_path / "small"):
        root = fetching.fetch("small", source=source, cache=tmp_path / "cache")
        assert root == tmp_path / "small"
    assert not (tmp_path / "cache").exists()


def test_a_folder_without_the_data_set_says_what_was_looked_for(entry: DatasetEntry, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no small\.tar\.xz, no folder"):
        fetching.fetch("small", source=tmp_path, cache=tmp_path / "cache")


def test_loading_never_downloads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetching, "default_cache", lambda: tmp_path)
    with pytest.raises(DatasetError, match="'hapt' is not here; run: deeprotect datasets fetch hapt"):
        load("hapt")


@pytest.mark.parametrize("rate_hz", [0, -1, float("nan"), float("inf")])
def test_a_rate_that_is_no_rate_is_refused(rate_hz: float) -> None:
    with pytest.raises(DatasetError, match="must be a positive number"):
        load("watch", rate_hz=rate_hz)


def test_a_zip_inside_the_publishers_is_unpacked_beside_its_other_files(
    entry: DatasetEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _register(monkeypatch, entry.model_copy(update={"inner": "*/data.zip"}))
    inner = _zip(tmp_path / "inner.zip", ("data/1.txt", "data/2.txt"))
    with zipfile.ZipFile(tmp_path / "small.zip", "w") as bundle:
        bundle.write(inner, "top/data.zip")
    root = fetching.fetch("small", source=tmp_path, cache=tmp_path / "cache")
    assert (root / "data" / "2.txt").read_text() == "data/2.txt"


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_files_that_are_not_the_published_ones_are_refused(
    entry: DatasetEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    listing = "".join(
        f"{hashlib.sha256(f'top/{name}'.encode()).hexdigest()}  {name}\n" for name in ("data/1.txt", "data/2.txt")
    )
    known = hashlib.sha256(listing.encode()).hexdigest()
    _register(monkeypatch, entry.model_copy(update={"files_sha256": known}))
    source = _zip(tmp_path / "small.zip", TOP)
    if form == "folder":
        zipfile.ZipFile(source).extractall(tmp_path / "small")
        source = tmp_path / "small"
    assert fetching.fetch("small", source=source, cache=tmp_path / "cache").name == "top"
    _register(monkeypatch, entry.model_copy(update={"files_sha256": "0" * 64}))
    with pytest.raises(DatasetError, match="differs from the published files"):
        fetching.fetch("small", source=source, cache=tmp_path / "other")

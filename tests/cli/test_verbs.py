import json
import subprocess
import sys

import pyarrow.csv as pa_csv

from deeprotect import Policy


def test_init_writes_a_policy_with_hardware_ranges_and_warns_what_else_is_revealed(folder, deeprotect):
    done = deeprotect("init", "walk.csv", "--useful", "activity", "--out", "new.toml")
    assert done.returncode == 0, done.stderr
    policy = Policy.load(folder / "new.toml")
    assert policy.stream.rate_hz == 10
    assert policy.stream.channels["acc_x"].range == (-4.0, 4.0)
    assert "accelerometer data can also reveal: " in done.stderr
    assert "text entered" in done.stderr


def test_init_promises_ldp_whatever_is_sensitive(folder, deeprotect):
    for asked, epsilon in (((), 5.0), (("--epsilon", "1.5"), 1.5)):
        done = deeprotect(
            "init", "walk.csv", "--useful", "activity", "--sensitive", "note", *asked, "--out", "new.toml"
        )
        assert done.returncode == 0, done.stderr
        privacy = Policy.load(folder / "new.toml").privacy
        assert (privacy.guarantee, privacy.epsilon) == ("ldp", epsilon)
        (folder / "new.toml").unlink()


def test_protect_keeps_the_form_and_says_what_it_left_out(folder, deeprotect):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    assert pa_csv.read_csv(folder / "out.csv").column_names == ["time", "acc_x", "acc_y", "recording"]
    assert "left out, not channels: note, activity" in done.stderr
    assert "ε = 5 per window" in done.stderr
    assert "ε = 250 for the whole stream" in done.stderr


def test_protect_reads_and_writes_pipes(folder, deeprotect):
    done = deeprotect("protect", "protector", "-", "-", text=(folder / "walk.csv").read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "time,acc_x,acc_y,recording"
    assert len(done.stdout.splitlines()) == 201


def test_protect_sums_up_for_scripts(deeprotect):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv", "--json")
    assert json.loads(done.stderr)["cost"]["per_stream"] == 250


def test_describe_prints_the_card_or_the_manifest(deeprotect):
    assert "## What is promised" in deeprotect("describe", "protector").stdout
    assert json.loads(deeprotect("describe", "protector", "--json").stdout)["format"] == "deeprotect-bundle"


def test_inferences_and_datasets_list_what_is_known(deeprotect):
    assert "text_entered" in deeprotect("inferences").stdout
    assert "miluzzo2012tapprints" in deeprotect("inferences", "text_entered").stdout
    assert len(json.loads(deeprotect("inferences", "--sensor", "microphone", "--json").stdout)) >= 5
    assert "deeprotect evaluate --split trial=11,12,13,14,15,16" in deeprotect("datasets").stdout
    assert {entry["name"] for entry in json.loads(deeprotect("datasets", "--json").stdout)} >= {"watch", "hapt"}


def test_nothing_heavy_is_imported_before_it_is_used():
    heavy = ("torch", "sklearn", "scipy", "pyarrow", "pandas", "matplotlib", "onnxruntime", "numpy", "sqlalchemy")
    check = f"import sys, deeprotect, deeprotect.cli.app; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_release_imports_neither_torch_nor_pandas_and_without_ledger_no_database(folder, deeprotect):
    check = (
        "import sys; sys.modules['torch'] = sys.modules['sklearn'] = sys.modules['sqlalchemy'] = None\n"
        "from deeprotect import Protector\n"
        "print(Protector.load('protector').protect('walk.csv', 'out.csv').rows)\n"
        "assert 'pandas' not in sys.modules"  # Arrow would import it, half a second, for some of what it does
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "200"


def test_an_output_never_replaces_its_input(deeprotect, folder):
    raw = (folder / "walk.csv").read_bytes()
    for name in ("walk.csv", "./walk.csv"):
        done = deeprotect("protect", "protector", "walk.csv", name)
        assert done.returncode == 2
        assert "it is the input" in done.stderr
    assert (folder / "walk.csv").read_bytes() == raw

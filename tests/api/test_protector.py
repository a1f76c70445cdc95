"""The face for Python: what it shows, what it returns, and that pickles are checked like files."""

import copy
import pickle
import subprocess
import sys
import tomllib

import numpy as np
import pyarrow as pa
import pytest

import deeprotect
from deeprotect import Policy, Protector, Release, errors
from deeprotect.bundle.bundle import _unpickled
from deeprotect.errors import BundleError, PolicyError


@pytest.fixture
def protector(bundle) -> Protector:
    return Protector(bundle)


def test_it_says_in_a_line_what_it_is(protector):
    line = repr(protector)
    assert line == "<Protector for “activity”; sensitive: everything else; baseline, ε = 5 ldp per window>"
    assert len(repr(protector.bundle)) < 120


def test_a_notebook_shows_the_card_and_nothing_that_it_would_run(protector, policy):
    page = protector._repr_html_()
    assert "<details>" in page
    assert "activity" in page
    assert "<script" not in page
    assert "What is not" in page


def test_names_from_a_bundle_are_escaped_in_a_notebook(policy, bundle):
    manifest = bundle.manifest.model_copy(update={"made_with": {"<script>alert(1)</script>": "1"}})
    page = Protector(type(bundle)(manifest, bundle.files))._repr_html_()
    assert "<script" not in page


def test_what_it_promises_is_at_hand(protector, policy):
    assert (protector.epsilon, protector.guarantee, protector.mechanism) == (5.0, "ldp", "baseline")
    assert protector.policy == policy


def test_release_gives_table_cost_and_what_was_left_out_together(protector, table):
    released = protector.protect(table)
    assert isinstance(released, Release)
    assert released.table.num_rows == released.rows == table.num_rows
    assert released.cost.draws == 6
    assert released.cost.per_stream == 30
    assert released.dropped == ("note", "activity")
    assert released.clipped == ()


def test_what_is_printed_of_a_release_holds_no_sample(protector, table):
    released = protector.protect(table)
    numbers = {f"{value:.3g}" for value in released.table["acc_x"].to_numpy() if abs(value) > 1e-3}
    assert not any(number in repr(released) for number in numbers if len(number) > 3)


def test_a_pickle_releases_and_is_small(protector, table):
    again = pickle.loads(pickle.dumps(protector))
    assert again.bundle.manifest == protector.bundle.manifest
    assert again.protect(table).table.num_rows == table.num_rows
    protector.protect(table)  # what was worked out on the way does not travel
    assert len(pickle.dumps(protector)) < 2 * len(protector.bundle.manifest.to_json()) + 20_000


def test_a_pickle_that_was_altered_is_refused_like_a_file(bundle):
    manifest, (name, content) = bundle.manifest.to_json(), *bundle.files.items()
    with pytest.raises(BundleError, match=r"the pickle: manifest\.json was altered"):
        _unpickled(manifest.replace(b'"epsilon": 5.0', b'"epsilon": 1.0'), bundle.files)
    with pytest.raises(BundleError, match="hash differs"):
        _unpickled(manifest, {name: content + b" "})
    with pytest.raises(BundleError, match="hash differs"):
        _unpickled(manifest, {})
    with pytest.raises(BundleError, match="hash differs"):
        _unpickled(manifest, {name: content, "more": b""})


def test_a_pickle_of_a_promise_that_does_not_hold_is_refused(bundle):
    """Digest and hashes fit; what is promised is worked out again all the same."""
    certificate = {**bundle.manifest.certificate, "epsilon": 1.0}
    forged = type(bundle)(bundle.manifest.model_copy(update={"certificate": certificate}), bundle.files)
    with pytest.raises(BundleError):
        pickle.loads(pickle.dumps(forged))


def test_copies_are_the_protector_itself(protector):
    assert copy.copy(protector) is protector
    assert copy.deepcopy({"a": protector})["a"] is protector


def test_a_policy_may_be_a_path_a_dictionary_or_keywords(policy, tmp_path):
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    tables = tomllib.loads(policy.to_toml())
    del tables["version"]  # nobody should need to know it
    channels = tables["stream"]["channels"]
    keys = {"rate_hz": 10, "window": 4, "channels": channels, "useful": ["activity"], "epsilon": 5.0}
    assert Policy.of(tmp_path / "policy.toml") == Policy.of(str(tmp_path / "policy.toml")) == policy
    assert Policy.of(tables) == policy
    assert Policy.of(**keys, mechanism="baseline") == policy
    assert Policy.of(policy) is policy
    for given in (policy, tables, tmp_path / "policy.toml"):
        assert Policy.of(given, epsilon=2.0).privacy.epsilon == 2.0


def test_a_key_that_is_none_is_refused_with_the_one_that_was_meant():
    with pytest.raises(PolicyError, match="did you mean epsilon"):
        Policy.of(epsilom=5.0)
    with pytest.raises(PolicyError, match=r"stream.*must be a table"):
        Policy.of({"stream": 3}, window=4)


def test_no_key_of_a_policy_stands_in_two_sections():
    from deeprotect.policy.policy import SECTIONS

    names = [name for model in SECTIONS.values() for name in model.model_fields]
    assert len(names) == len(set(names))


def test_completion_knows_every_public_name():
    assert set(deeprotect.__all__) <= set(dir(deeprotect))
    assert all(getattr(deeprotect, name) is not None for name in deeprotect.__all__)
    with pytest.raises(AttributeError):
        _ = deeprotect.Protectr


def test_every_error_is_caught_by_the_one_at_the_top():
    every = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    assert all(issubclass(each, deeprotect.DeeprotectError | Warning) for each in every)


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert deeprotect.__version__ == version("deeprotect")


def test_importing_the_package_imports_nothing_heavy():
    check = "import sys, deeprotect; print(sorted({'numpy', 'pyarrow', 'pydantic', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_protector_learns_from_a_dictionary(table):
    policy = {
        "stream": {"rate_hz": 10, "window": 4, "channels": {"acc_x": {"unit": "g", "range": [-4, 4]}}},
        "inferences": {"useful": ["activity"]},
        "privacy": {"epsilon": 5.0, "mechanism": "baseline"},
    }
    rows = pa.table({"acc_x": np.linspace(0, 1, 80), "activity": ["a"] * 40 + ["b"] * 40})
    assert Protector.train(policy, rows).mechanism == "baseline"


def test_labels_leave_only_when_they_are_asked_for_and_the_release_says_so(protector, table, tmp_path):
    plain, research = protector.protect(table), protector.protect(table, labels=True)
    assert "activity" not in plain.table.column_names
    assert research.table["activity"].to_pylist() == table["activity"].to_pylist()
    assert "note" not in research.table.column_names, "labels of the policy, and nothing else"
    assert (plain.labels, research.labels) == ((), ("activity",))
    assert "labels released unchanged: activity" in repr(research)
    assert "labels" not in repr(plain)
    assert "activity" in research.unchanged
    with pytest.raises(errors.TableError, match="none of the labels that labels=True asks for: “activity”"):
        protector.protect(table.drop_columns(["activity"]), labels=True, ledger=tmp_path / "spent.db", stream="walk")
    assert not (tmp_path / "spent.db").exists(), "refused before a charge"

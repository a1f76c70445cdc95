"""Python and the command line do the same: the same names, the same refusals, nothing overwritten unasked."""

import inspect
import pickle
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
import typer
from tests.conftest import walk

import deeprotect
from deeprotect import Protector
from deeprotect.cli.app import app
from deeprotect.cli.wording import wording
from deeprotect.errors import AmbiguousColumnError, BundleError, InputError, MissingColumnError, OutputExistsError

VERBS = {
    name: (getattr(deeprotect, name),) for name in ("audit", "check", "evaluate", "init", "prepare", "tune", "verify")
}
VERBS |= {
    "train": (Protector.train, Protector.save),
    "enrol": (Protector.load, Protector.enrol, Protector.save),
    "protect": (Protector.load, Protector.protect),
}
NOT_IN_PYTHON = {"json", "help", "engine", "master", "format", "field", "time", "measurement"}
"""What is printed, where it runs, and lines of a pipe: in Python results are values, engines have functions of their
own, and readings are pushed into a stream."""
NOT_THERE = {"progress", "policy"}
"""Functions are told of progress; what is an argument on the command line may be a keyword in Python."""
PYTHON_NAMES = {"data": "table"}
"""The table is an option where a command has other arguments, and the same argument of every function."""
SEVERAL = {"app": "apps", "attacker": "attackers", "method": "methods"}
"""Dictionaries in Python, options to repeat on the command line of `evaluate`."""
SHOWN = {"budget": deeprotect.budget, "describe": Protector.describe, "inferences": deeprotect.inferences}
"""Verbs that print what the function of this name gives."""
FUNCTIONS = [each for several in VERBS.values() for each in several]
FUNCTIONS += [*SHOWN.values(), deeprotect.windows, Protector.stream, Protector.ledger, Protector.audit]
PAGE = Path(__file__).parents[2] / "docs/python.md"
COMMANDS = {name: each for name, each in typer.main.get_command(app).commands.items() if not each.hidden}


@pytest.fixture
def protector(bundle):
    return Protector(bundle)


@pytest.fixture
def source(tmp_path):
    pa_csv.write_csv(walk(23), tmp_path / "walk.csv")
    return tmp_path / "walk.csv"


@pytest.mark.parametrize("verb", VERBS)
def test_options_have_the_names_of_the_command_line(verb):
    options = {
        each.removeprefix("--").replace("-", "_")
        for parameter in COMMANDS[verb].params
        for each in parameter.opts
        if each.startswith("--")
    }
    options = {SEVERAL.get(each, each) if verb == "evaluate" else PYTHON_NAMES.get(each, each) for each in options}
    options = {PYTHON_NAMES.get(each, each) for each in options}
    python = [each for function in VERBS[verb] for each in inspect.signature(function).parameters.values()]
    assert not [each for each in python if each.kind is inspect.Parameter.VAR_KEYWORD], "unknown options are errors"
    assert options - NOT_IN_PYTHON <= {each.name for each in python}
    keywords = {each.name for each in python if each.kind is inspect.Parameter.KEYWORD_ONLY}
    assert keywords - NOT_THERE <= options


@pytest.mark.parametrize("verb", VERBS)
def test_options_have_the_defaults_of_the_command_line(verb):
    here = {
        name: each.default
        for function in VERBS[verb]
        for name, each in inspect.signature(function).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    there = {option: each for each in COMMANDS[verb].params for option in each.opts if option.startswith("--")}
    for option, parameter in there.items():
        name = option.removeprefix("--").replace("-", "_")
        if name in here and not parameter.required:
            assert (parameter.default or None) == (here[name] or None), option


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__qualname__)
def test_every_argument_is_checked_and_described_where_it_is_declared(function):
    names = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
    described = re.findall(r"^ +(\w+): [A-Z]", inspect.getdoc(function).partition("Args:")[2], re.MULTILINE)
    assert described == names
    assert {*names} <= {*function.__wrapped__.__annotations__}


def test_the_table_has_one_name_and_one_place():
    for function in FUNCTIONS:
        names = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
        assert not {"data", "source", "frame"} & {*names}, function
        positional = [
            each.name for each in inspect.signature(function).parameters.values() if each.kind != each.KEYWORD_ONLY
        ]
        if {"policy", "table"} <= {*positional}:
            assert positional.index("policy") < positional.index("table"), function


def wrong_calls(protector, source, out):
    """Typical mistakes in scripts, and the resulting messages."""
    protect, policy = partial(protector.protect, source), protector.policy
    evaluate = partial(deeprotect.evaluate, policy, source, out=out)
    return [
        (protect, {"map": ["time=t"]}, "`map`: give a dictionary, not list"),
        (protect, {"map": "time=t"}, "`map`: give a dictionary, not 'time=t'"),
        (protect, {"map": {"time": 3}}, "`map`: give text, not 3"),
        (partial(deeprotect.check, source), {"map": ["time=t"]}, "`map`: give a dictionary, not list"),
        (protect, {"columns": "time,acc_x"}, "`columns`: give a list, not 'time,acc_x'"),
        (partial(deeprotect.prepare, source, out), {"unit": "acc=g:m/s2"}, "`unit`: give a list, not 'acc=g:m/s2'"),
        (partial(deeprotect.prepare, source, out), {"rate_hz": "5"}, "`rate_hz`: give a number, not '5'"),
        (protect, {"workers": -3}, "`workers`: give a number from 1 up, not -3"),
        (protect, {"workers": True}, "`workers`: give a whole number, not True"),
        (protect, {"keep_names": "no"}, "`keep_names`: give True or False, not 'no'"),
        (protect, {"relative_time": "no"}, "`relative_time`: give True or False, not 'no'"),
        (protect, {"force": 1}, "`force`: give True or False, not 1"),
        (protect, {"out": 5}, "`out`: give text or a path, not 5"),
        (protector.stream, {"listen": 0.5}, "`listen`: give a whole number, not 0.5"),
        (evaluate, {"jobs": "2"}, "`jobs`: give a whole number, not '2'"),
        (evaluate, {"epsilon": "5"}, "`epsilon`: give a number or a list, not '5'"),
        (partial(deeprotect.check, source), {"policy": 5}, "`policy`: give a policy or text or a path or a dictionary"),
        (partial(deeprotect.init, source, useful="activity"), {"epsilon": [5]}, "`epsilon`: give a number, not list"),
        (deeprotect.budget, {"address": 5}, "`address`: give text or a path, not 5"),
        (deeprotect.verify, {"bundle": protector}, "`bundle`: give text or a path, not Protector"),
        (deeprotect.audit, {"bundle": protector}, "`bundle`: give text or a path, not Protector"),
        (Protector.load, {"bundle": protector.bundle}, "`bundle`: give text or a path, not Bundle"),
    ]


def test_what_an_option_cannot_be_is_one_clear_line(protector, source, tmp_path):
    before = sorted(tmp_path.iterdir())
    for function, options, says in wrong_calls(protector, source, tmp_path / "out.csv"):
        with pytest.raises(InputError, match=re.escape(says)) as told:
            function(**options)
        assert "\n" not in str(told.value)
    assert sorted(tmp_path.iterdir()) == before


def test_numbers_of_numpy_and_paths_are_what_they_look_like(protector, source, tmp_path):
    assert protector.protect(source, tmp_path / "out.csv", workers=np.int64(2)).rows == 23


def test_errors_name_arguments_as_python_writes_them_and_a_terminal_options_to_type(protector, source, tmp_path):
    (tmp_path / "out.csv").write_text("yesterday")
    with pytest.raises(InputError, match=r"overwrite it with force=True$") as exists:
        protector.protect(source, tmp_path / "out.csv")
    assert wording(exists.value).endswith("overwrite it with --force")
    with pytest.raises(InputError, match=r"""map=\{"tme": "t"\}: 'tme' cannot be mapped""") as wrong:
        deeprotect.check(source, map={"tme": "t"})
    assert wording(wrong.value).startswith("--map tme=t: 'tme' cannot be mapped")
    with pytest.raises(InputError, match="give `accuracy`, what the app needs, or `epsilon_per_hour`"):
        deeprotect.tune(protector.policy, source, out=tmp_path / "tuned")


def test_errors_carry_what_a_program_needs_to_go_on(protector, tmp_path):
    """No message needs to be parsed: the path, the column, the candidates are attributes."""
    (tmp_path / "out.csv").write_text("yesterday")
    with pytest.raises(OutputExistsError) as exists:
        protector.protect(walk(8), tmp_path / "out.csv")
    assert exists.value.path == str(tmp_path / "out.csv")
    with pytest.raises(MissingColumnError) as missing:
        protector.protect(walk(8).drop_columns(["acc_y"]))
    assert (missing.value.column, missing.value.columns) == (
        "acc_y",
        ("time", "acc_x", "note", "recording", "activity"),
    )
    names = ["Timestamp" if name == "time" else name for name in walk(8).column_names]
    named = walk(8).rename_columns(names)
    with pytest.raises(AmbiguousColumnError) as asked:
        protector.protect(named)
    assert (asked.value.role, asked.value.candidates) == ("time", ("Timestamp",))
    again = pickle.loads(pickle.dumps(asked.value))  # as it comes back from a worker process
    assert (str(again), again.role) == (str(asked.value), "time")
    assert protector.protect(named, map={asked.value.role: asked.value.candidates[0]}).rows == 8


def test_a_protector_is_verified_and_audited_without_a_file(protector, tmp_path):
    assert protector.verify().holds
    named = {each.name for each in protector.verify().steps}
    assert {"files", "mechanism", "policy", "certificate", "networks"} <= named
    altered = {name: content + b" " for name, content in protector.bundle.files.items()}
    assert not Protector(replace(protector.bundle, files=altered)).verify().holds
    found = protector.audit(runs=1_000, table=walk(23), out=tmp_path / "audit.png")
    assert found.holds
    assert (tmp_path / "audit.png").stat().st_size > 1_000
    with pytest.raises(InputError, match="the picture is a PNG file"):
        protector.audit(out=tmp_path / "audit.pdf")


def test_the_card_is_text_or_a_page(protector):
    assert "## What is promised" in protector.describe()
    assert protector.describe(html=True).startswith("<!doctype html>")


def test_what_is_known_and_what_was_spent_are_values(protector, source, tmp_path):
    assert [each.title for each in deeprotect.inferences("text_entered")] == ["Text entered"]
    assert len(deeprotect.inferences(sensor="microphone")) < len(deeprotect.inferences())
    with pytest.raises(InputError, match="give a NAME or `sensor`"):
        deeprotect.inferences("text_entered", sensor="gyroscope")
    protector.protect(source, ledger=tmp_path / "spent.db", stream="walk")
    assert [each.draws for each in deeprotect.budget(tmp_path / "spent.db").people] == [6]
    assert not deeprotect.budget(tmp_path / "spent.db", person="bob").people


def test_no_room_has_the_name_of_what_the_package_gives():
    """Once it was imported, a room would stand where the function was."""
    home = Path(deeprotect.__file__).parent
    assert not [name for name in deeprotect.__all__ if (home / name).is_dir() or (home / f"{name}.py").is_file()]


def test_every_verb_has_a_function_or_is_named_as_one_of_the_command_line_alone():
    alone = PAGE.read_text(encoding="utf-8").split("Some commands have no Python function: ")[1].split(". ")[0]
    assert {name.strip(" `\n") for name in alone.replace(" and ", ", ").split(",")} == set(COMMANDS) - {
        *VERBS,
        *SHOWN,
    }


@pytest.mark.parametrize("wrong", [{"leger": "x.db"}, {"key": "public.pem"}, {"renumber": True}, {"mapped": []}])
def test_an_option_that_does_not_exist_is_an_error(protector, wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        protector.protect(walk(8), **wrong)
    with pytest.raises(TypeError, match=next(iter(wrong))):
        protector.stream(**wrong)


def test_an_input_is_never_the_output_and_what_exists_stays(protector, source, tmp_path):
    raw = source.read_bytes()
    (tmp_path / "link.csv").symlink_to(source)
    for out in (source, tmp_path / "link.csv"):
        for force in (False, True):
            with pytest.raises(InputError, match="it is the input"):
                protector.protect(source, out, force=force)
    (tmp_path / "out.csv").write_text("yesterday")
    with pytest.raises(InputError, match="exists already"):
        protector.protect(source, tmp_path / "out.csv")
    assert (source.read_bytes(), (tmp_path / "out.csv").read_text()) == (raw, "yesterday")
    assert protector.protect(source, tmp_path / "out.csv", force=True).rows == 23


def test_a_saved_bundle_is_not_overwritten_unasked(protector, tmp_path):
    protector.save(tmp_path / "saved")
    with pytest.raises(InputError, match="exists already"):
        protector.save(tmp_path / "saved")
    protector.save(tmp_path / "saved", force=True)


def test_a_table_in_memory_goes_to_a_file_and_not_into_a_folder(protector, tmp_path):
    release = protector.protect(walk(23), tmp_path / "out.parquet")
    assert (release.table, release.rows) == (None, 23)
    with pytest.raises(InputError, match=r"give a name such as .*out\.parquet"):
        protector.protect(walk(23), tmp_path / "out")


@pytest.mark.parametrize("beside", [{"map": {"time": "t"}}, {"columns": ["a"]}, {"keep_names": True}])
def test_an_array_has_no_columns_and_is_not_written(protector, beside, tmp_path):
    with pytest.raises(InputError, match="an array has no columns"):
        protector.protect(np.zeros((2, 4, 2)), **beside)
    with pytest.raises(InputError, match="not written"):
        protector.protect(np.zeros((2, 4, 2)), tmp_path / "out.csv")


def test_a_ledger_is_an_address_or_an_object(protector, source, tmp_path):
    first = protector.protect(source, ledger=tmp_path / "spent.db", stream="walk", app="fitness")
    again = protector.protect(source, ledger=str(tmp_path / "spent.db"), stream="walk", app="fitness")
    book = protector.ledger(tmp_path / "spent.db", stream="walk", app="fitness")
    assert first.table == again.table == protector.protect(source, ledger=book).table
    assert [each.draws.charged for each in (first, again)] == [6, 0]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"stream": "walk"}, "add ledger=FILE"),
        ({"app": "fitness"}, "add ledger=FILE"),
        ({"ledger": "spent.db"}, "add stream=NAME"),
    ],
)
def test_half_a_ledger_is_refused(protector, given, says):
    with pytest.raises(InputError, match=says):
        protector.protect(walk(8), **given)
    with pytest.raises(InputError, match=says):
        protector.stream(**given)


def test_a_ledger_of_another_protector_charges_for_nothing(protector, source, tmp_path):
    later = protector.bundle.manifest.model_copy(update={"created": "2027-01-01T00:00:00+00:00"})
    book = Protector(replace(protector.bundle, manifest=later)).ledger(tmp_path / "spent.db", stream="walk")
    for call in (protector.protect, lambda _, **given: protector.stream(**given)):
        with pytest.raises(InputError, match="opened with another protector"):
            call(source, ledger=book)


@pytest.mark.parametrize("ledger", [3, False, True, object(), ["spent.db"]])
def test_what_is_no_ledger_is_refused_and_never_taken_for_none(protector, source, ledger):
    with pytest.raises(InputError, match="`ledger`: give a ledger or text or a path, not "):
        protector.protect(source, ledger=ledger)


def test_a_ledger_is_never_the_output(protector, source, tmp_path):
    with pytest.raises(InputError, match="it is the ledger"):
        protector.protect(source, tmp_path / "spent.csv", ledger=tmp_path / "spent.csv", stream="walk")


def test_a_key_is_asked_of_a_bundle_that_is_loaded(protector, tmp_path):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.pem").write_bytes(private)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public.pem").write_bytes(public)
    protector.save(tmp_path / "signed", sign=tmp_path / "key.pem")
    protector.save(tmp_path / "unsigned")
    assert Protector.load(tmp_path / "signed", key=tmp_path / "public.pem").epsilon == protector.epsilon
    with pytest.raises(BundleError, match="not signed"):
        Protector.load(tmp_path / "unsigned", key=tmp_path / "public.pem")


def test_what_waits_when_a_stream_ends_is_dropped_and_counted(protector):
    with protector.stream() as live:
        assert len(live.push(np.zeros((6, 2)))) == 4
    assert (live.waiting, live.dropped) == (0, 2)


def test_a_stream_that_ended_with_its_block_takes_nothing_more(protector):
    with protector.stream() as live:
        live.push(np.zeros((4, 2)))
    for late in (lambda: live.push([0.0, 0.0]), live.finish):
        with pytest.raises(InputError, match="this stream ended with its `with` block; open another one"):
            late()
    assert live.cost.draws == 1


def test_a_release_without_a_table_is_told_in_json(protector):
    release = protector.protect(pa.table({"acc_x": [0.1] * 8, "acc_y": [0.2] * 8}))
    assert "table" not in release.to_json()
    assert release.to_json()["rows"] == 8

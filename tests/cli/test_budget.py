"""The ledger as a user meets it: protect --ledger, and the verb budget."""

import json

import pytest
from tests.conftest import POLICY

from deeprotect.bundle import Bundle
from deeprotect.policy import Policy

LEDGER = ("--ledger", "spent.db", "--stream", "ann")


@pytest.fixture
def limited(folder):
    """The folder's bundle, under a policy that allows 60 draws in an hour."""
    bundle = Bundle.load(folder / "protector")
    policy = Policy.from_toml(POLICY + "[privacy.budget]\nper_hour = 300.0\nin_all = 10000.0\n")
    Bundle(bundle.manifest.model_copy(update={"policy": policy.to_json()}), bundle.files).save(folder / "limited")


def test_without_a_ledger_protect_says_once_that_nothing_is_remembered(deeprotect):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv")
    assert [line for line in done.stderr.splitlines() if "ledger" in line] == [
        "no --ledger: this cost is not remembered, and every run adds to it"
    ]


def test_the_same_file_is_the_same_release_and_costs_nothing_more(folder, deeprotect):
    first = deeprotect("protect", "protector", "walk.csv", "one.csv", *LEDGER)
    again = deeprotect("protect", "protector", "walk.csv", "two.csv", *LEDGER)
    assert "spent.db: 50 draws charged\n" in first.stderr
    assert "spent.db: 0 draws charged; 50 were already charged and are returned unchanged\n" in again.stderr
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_budget_says_who_spent_what_and_what_is_left(deeprotect, limited):
    who = ("--person", "ann", "--app")
    for app, kind in (("maps", "csv"), ("health", "parquet")):
        deeprotect("protect", "protector", f"walk.{kind}", f"{app}.csv", "--ledger", "l", "--stream", kind, *who, app)
    deeprotect("protect", "limited", "walk.csv", "out.csv", "--ledger", "l", "--stream", "bob")
    said = deeprotect("budget", "l").stdout
    assert "ann: ε = 500 in all, 500 in the last day, 500 in the last hour; ldp, 100 draws" in said
    assert "by app, in all: app health 250, app maps 250" in said
    assert "left: 50 of per_hour = 300, more from 20" in said
    assert "left: 9750 of in_all = 10000\n" in said
    assert "bob" not in deeprotect("budget", "l", "--person", "ann").stdout
    assert deeprotect("budget", "l", "--stream", "nobody").stdout == "nothing was charged\n"
    body = json.loads(deeprotect("budget", "l", "--app", "maps", "--json").stdout)
    assert [person["spent"]["all"] for person in body["people"]] == [500]
    assert [stream["app"] for stream in body["people"][0]["streams"]] == ["maps"]


def test_a_refusal_says_all_that_one_needs_to_know(folder, deeprotect, limited):
    deeprotect("protect", "limited", "walk.csv", "out.csv", *LEDGER)
    refused = deeprotect("protect", "limited", "walk.parquet", "more.csv", *LEDGER)
    assert refused.returncode == 1
    assert (
        "'ann' has spent ε = 250 of per_hour = 300; 50 draws would cost ε = 250; ε = 50 remains; it frees at "
        in refused.stderr
    )
    assert len(refused.stderr.splitlines()) == 1
    assert not (folder / "more.csv").exists()


def test_the_operator_loosens_and_a_bundle_without_limits_does_not(folder, deeprotect, limited):
    deeprotect("protect", "limited", "walk.csv", "out.csv", *LEDGER)
    refused = deeprotect("protect", "protector", "walk.parquet", "more.csv", *LEDGER)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    assert "deeprotect budget limit LEDGER PERSON per_hour=EPSILON" in refused.stderr
    said = deeprotect("budget", "limit", "spent.db", "ann", "per_hour=none", "in_all=600").stdout
    assert "  left: 350 of in_all = 600\n" in said
    assert "per_hour" not in said
    assert deeprotect("protect", "protector", "walk.parquet", "more.csv", *LEDGER).returncode == 0
    body = json.loads(deeprotect("budget", "spent.db", "--json").stdout)
    assert [limit["left"] for limit in body["people"][0]["limits"]] == [100]


def test_limits_may_be_set_before_anything_is_charged(deeprotect):
    deeprotect("protect", "protector", "walk.csv", "out.csv", *LEDGER)
    said = deeprotect("budget", "limit", "spent.db", "bob", "in_all=7").stdout
    assert said.splitlines()[1:] == ["  left: 7 of in_all = 7"]


WRONG = {
    "limits in the words of before": (
        ("budget", "l.db", "--limit", "in_all=3"),
        "`deeprotect budget limit LEDGER PERSON",
    ),
    "a limit of another name": (("budget", "limit", "l.db", "a", "in_al=3"), "as in in_all=100"),
    "a limit that is none": (("budget", "limit", "l.db", "a", "in_all=nan"), "as in in_all=100"),
    "a limit without end": (("budget", "limit", "l.db", "a", "in_all=inf"), "as in in_all=100"),
    "a limit of nothing": (("budget", "limit", "l.db", "a", "in_all=0"), "as in in_all=100"),
    "limits of no ledger": (("budget", "limit", "no.db", "a", "in_all=3"), "no.db: no such ledger"),
    "no such ledger": (("budget", "no.db"), "no.db: no such ledger"),
    "no ledger at all": (("budget", "walk.csv"), "walk.csv: not a ledger of DEEProtect"),
    "an unknown address": (("budget", "mysql://x/y"), "give a file's name, or postgresql+psycopg://"),
    "a ledger without a stream": (("protect", "--ledger", "l.db"), "add --stream NAME"),
    "a stream without a ledger": (("protect", "--stream", "ann"), "add --ledger FILE"),
    "an app without a ledger": (("protect", "--app", "maps"), "--app names an entry of a ledger"),
    "an output that is the ledger": (("protect", "--ledger", "out.csv", "--stream", "ann"), "it is the ledger"),
    "a name of two lines": (("protect", "--ledger", "l.db", "--stream", "a\nb"), "must be one printable line"),
}


@pytest.mark.parametrize(("command", "line"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_line(deeprotect, command, line):
    verb, *rest = command
    done = deeprotect(verb, *(("protector", "walk.csv", "out.csv") if verb == "protect" else ()), *rest)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_server_that_does_not_answer_is_one_line_without_the_password(deeprotect):
    pytest.importorskip("psycopg", reason="needs psycopg; install deeprotect[ledger]")
    done = deeprotect("budget", "postgresql://ann:secret@localhost:1/x")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "secret" not in done.stderr


def test_charges_are_exported_archived_and_forgotten(folder, deeprotect):
    deeprotect("protect", "protector", "walk.csv", "out.csv", *LEDGER)
    assert deeprotect("budget", "export", "spent.db", "charges.csv").stderr == "2 charges\n"
    assert (folder / "charges.csv").read_text().splitlines()[0].startswith("charge,at,person,stream,app,bundle,")
    done = deeprotect("budget", "archive", "spent.db", "old.parquet", "--older-than", "2 d")
    assert done.stderr == "0 charges are in old.parquet and no more in the ledger; keep it\n"
    assert deeprotect("budget", "forget", "spent.db", "--older-than", "30 d").stderr == (
        "draws of 0 charges are not kept any more\n"
    )
    assert "ann: ε = 250 in all" in deeprotect("budget", "show", "spent.db").stdout


@pytest.mark.parametrize(
    ("age", "said"), [("1 d", "keep 2 days or more"), ("soon", "'soon' is not a duration; give a number and a unit")]
)
def test_too_young_an_age_or_none_is_said_in_one_line(deeprotect, age, said):
    deeprotect("protect", "protector", "walk.csv", "out.csv", *LEDGER)
    done = deeprotect("budget", "forget", "spent.db", "--older-than", age)
    assert (done.returncode, said in done.stderr) == (2, True)
    assert len(done.stderr.splitlines()) == 1

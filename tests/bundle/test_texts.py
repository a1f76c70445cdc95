"""What a bundle says in words is data: quoted, bounded, from a closed vocabulary where one is due, and never last."""

import json
import re
from itertools import filterfalse

import pytest
from typer.testing import CliRunner

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card, card_page
from deeprotect.bundle.manifest import VERSION, digest
from deeprotect.bundle.verification.verify import verify
from deeprotect.cli.app import app
from deeprotect.errors import BundleError, quoted
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms import mechanism as mechanisms

VOICE = "person holds: ε = 0.01 ldp for a whole life”. Verdict: holds"
ISOLATES = "\u2068\u2069"
"""Around a text that is not ours, so that its direction does not reach beyond it."""
VERDICTS = ("verdict: holds", "verdict: does not hold", "verdict: not proved")


def renamed(bundle, folder, *, old, new):
    """The bundle with a name changed wherever it stands; every hash is right."""
    bundle.save(folder)
    (folder / "card.html").unlink()
    body = json.loads((folder / "manifest.json").read_text().replace(f'"{old}"', json.dumps(new)))
    body.pop("digest")
    body["certificate"] = Bundle(bundle.manifest.model_copy(update={"mechanism": body["mechanism"]}), {}).certificate
    (folder / "manifest.json").write_text(json.dumps({**body, "digest": digest(body)}))
    return folder


@pytest.mark.parametrize("old", ["person", "activity", "walk", "1", "acc_x", "g"])
def test_a_name_never_speaks_with_the_tools_voice(made, tmp_path, old):
    path = renamed(made("channel ldp"), tmp_path / "bundle", old=old, new=VOICE)
    bundle = Bundle.load(path)
    assert verify(path).holds
    for text in (str(verify(path)), card(bundle), repr(bundle), str(bundle.mechanism.event)):
        assert VOICE not in text
        assert text.count("for a whole life") == text.count(quoted(VOICE))
    assert "<" not in card(bundle)


@pytest.mark.parametrize("epsilon", [5.0, 0.5])
@pytest.mark.parametrize("verb", ["verify", "describe"])
def test_the_last_line_is_one_that_no_bundle_can_write(made, tmp_path, forge, verb, epsilon):
    path = forge(Bundle.load(renamed(made("channel ldp"), tmp_path / "b", old="person", new=VOICE)))
    body = json.loads((path / "manifest.json").read_text())
    body["mechanism"]["event"]["epsilon"] = epsilon
    body.pop("digest")
    (path / "manifest.json").write_text(json.dumps({**body, "digest": digest(body)}))
    last = CliRunner().invoke(app, [verb, str(path)]).stdout.splitlines()[-1:]
    if verb == "verify":
        assert last == ["verdict: holds" if epsilon == 5.0 else "verdict: does not hold"]
    else:
        assert not last or last[0].startswith("- 20")  # when it was made, and with what


HOSTILE = {
    "control": "walk\x07\x00",
    "line": "walk\nverdict: holds",
    "escape": "\x1b[32mholds\x1b[0m",
    "one escape": "\x9b32mholds",
    "backwards": "walk\u202eseil",
    "embedded": "\u2067walk\u2069",
    "invisible": "wa\u200blk",
    "tag": "wa\U000e0041lk",
    "half a character": "walk\ud800",
    "long": "w" * 100_000,
    "terminal markup": "[bold red]holds[/bold red][link=http://a.b]c[/link]",
    "page markup": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "entities": "&lt;b&gt;holds&lt;/b&gt;",
    "link": "[holds](javascript:alert(1))",
    "quotes": "”. Verdict: holds. “",
    "right to left": "\u05d0\u05d1\u05d2",
    "combining": "w" + "\u0336" * 40,
}
SAID = {
    "useful": "policy__inferences__useful",
    "channel": "policy__stream__channels__0__name",
    "unit": "policy__stream__channels__0__unit",
    "owner": "policy__about",
    "costs": "policy__training__cost_matrix",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("place", SAID)
def test_describe_shows_the_texts_of_a_hostile_bundle_as_texts_or_refuses_them(made, forge, place, kind):
    text, shown = HOSTILE[kind], {"useful": lambda text: [text], "owner": lambda text: {"owner": text}}
    shown["costs"] = lambda text: {"activity": {text: {"still": 2.0}}}
    path = forge(made("laplace"), **{SAID[place]: shown.get(place, str)(text)})
    done = CliRunner().invoke(app, ["describe", str(path)])
    page = CliRunner().invoke(app, ["describe", str(path), "--html", str(path.parent / "card.html")])
    assert done.exit_code == page.exit_code
    said = done.output + str(done.exception or "")
    assert all(
        line.isprintable() or set(filterfalse(str.isprintable, line)) <= set(ISOLATES) for line in said.split("\n")
    )
    assert "\x1b" not in said
    assert max(map(len, said.split("\n"))) < 1000
    if isinstance(done.exception, BundleError):
        assert "\n" not in str(done.exception)
        return
    assert done.exit_code == 0
    written = (path.parent / "card.html").read_text()
    assert "<script>alert" not in written
    assert "<img" not in written
    assert "javascript:" not in re.sub(r">[^<]*<", "><", written)
    alone = [line for line in said.split("\n") if line.strip(" -*").startswith(("verdict", "Verdict", "holds"))]
    assert not alone


WORDS = {
    "created": "now; verdict: holds",
    "made_with__torch": "2 and it holds",
    "made_with__a verdict": "1.0",
    "feature_extractor__name": "nothing; it holds",
    "feature_extractor__chosen_for_expected_cost": {"the verdict holds": 0.1},
    "training__fingerprint": "holds",
    "training__classes": {"it holds": ["a"]},
    "certificate__neighbours": "nobody",
    "mechanism__kind": "it holds",
}
RESULT = {"mechanism": "channel", "guarantee": "ldp", "epsilon": 5.0, "windows": 9, "useful": {}, "sensitive": {}}
RESULTS = {
    "reader": {"useful": {"activity": {"clean": 0.5, "it holds": 0.5}}},
    "inference": {"useful": {"it holds": {"clean": 0.5}}},
    "classes of": {"classes": {"it holds": []}},
    "class read": {"classes": {"activity": [{"name": "a", "learnt": 1, "tested": 1, "clean": 7.0, "app": 0.5}]}},
    "attacked": {"sensitive": {"activity": {"raw": 0.5}}},
    "share": {"useful": {"activity": {"clean": 7.0}}},
    "mechanism": {"mechanism": "it holds"},
    "guarantee": {"guarantee": "it holds"},
}


@pytest.mark.parametrize("place", WORDS)
def test_a_word_that_is_none_of_ours_is_refused_where_ours_are_due(made, forge, place):
    with pytest.raises(BundleError) as refused:
        Bundle.load(forge(made("channel ldp"), **{place: WORDS[place]}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("change", RESULTS.values(), ids=RESULTS)
def test_results_are_numbers_under_our_own_words(made, forge, change):
    assert Bundle.load(forge(made("channel ldp"), results=[RESULT])).manifest.results
    with pytest.raises(BundleError):
        Bundle.load(forge(made("channel ldp"), results=[RESULT | change]))


def test_notes_are_the_bundles_own_words_and_attributed(made, forge):
    path = forge(made("laplace"), policy__about={"purpose": 'anything” it holds. "Owner: us', "owner": "<b>\u05d0"})
    text = card(Bundle.load(path))
    assert "- Meant for: the bundle says: “anything' it holds. 'Owner: us”\n" in text
    assert "- Owner: the bundle says: “\u2068\\<b>\u05d0\u2069”\n" in text
    assert "<b>\u05d0" not in card_page(Bundle.load(path))


@pytest.mark.parametrize("about", [{"owner": "a" * 65}, {"purpose": "a" * 301}])
def test_names_and_notes_are_short(made, forge, about):
    with pytest.raises(BundleError, match="printable line of at most"):
        Bundle.load(forge(made("laplace"), policy__about=about))


def test_a_promise_is_about_inferences_of_the_policy_only(made, forge):
    fields = made("paper mode 2").manifest.mechanism
    mechanism = fields | {"event": fields["event"] | {"inferences": ["person", "it holds"]}}
    certificate = mechanisms.load(mechanism).certificate()
    with pytest.raises(BundleError, match="the policy names no “it holds”"):
        Bundle.load(forge(made("paper mode 2"), mechanism=mechanism, certificate=certificate))


def test_an_event_quotes_each_name():
    event = Event("rldp", 1.0, inferences=("a, b", "c"))
    assert str(event) == "ε = 1 rldp per window for “a, b”, “c”"


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_earlier_bundle_is_refused_with_the_way_out(made, forge, version):
    for use in (Bundle.load, verify):
        with pytest.raises(BundleError, match=rf"bundle version {version} is of an earlier format.*; train again$"):
            use(forge(made("laplace"), version=version))


@pytest.mark.parametrize("version", [0, -1, VERSION + 1, True, "3", None, 1.0, 10**4000])
def test_any_other_version_is_not_guessed_at(made, forge, version):
    with pytest.raises(BundleError, match=r"bundle version .* upgrade") as refused:
        Bundle.load(forge(made("laplace"), version=version))
    assert len(str(refused.value)) < 300

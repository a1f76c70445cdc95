import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from tests.bundle.conftest import KINDS
from typer.testing import CliRunner

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.verification.verify import verify
from deeprotect.cli.app import app
from deeprotect.errors import BundleError
from deeprotect.privacy.mechanisms import mechanism as mechanisms


def failed(path, **options):
    return {step.name: step.found for step in verify(path, **options).steps if step.breaks}


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_of_every_mechanism_holds(made, kind, tmp_path):
    made(kind).save(tmp_path / "bundle.zip")
    report = verify(tmp_path / "bundle.zip")
    assert report.holds, report
    assert any(step.name.startswith("ε") and step.holds for step in report.steps)
    assert report.verdict == "holds"
    assert report.promise.startswith(str(made(kind).mechanism.event))
    for assumption in made(kind).mechanism.certificate()["assumes"]:
        assert assumption in report.promise


@pytest.mark.parametrize("kind", KINDS)
def test_an_edited_epsilon_is_refused_by_verify_and_by_loading(made, forge, kind):
    path = forge(made(kind), mechanism__event__epsilon=0.001, policy__privacy__epsilon=0.001)
    assert set(failed(path)) == {"mechanism"}
    with pytest.raises(BundleError, match="epsilon"):
        Bundle.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_half_the_noise_is_refused(made, forge, kind):
    mechanism = made(kind).manifest.mechanism
    if mechanism["kind"] == "channel":
        less = {"mechanism__weights": [f"{(1 << 64) - 1} 1", f"1 {(1 << 64) - 1}"]}
    else:
        place = "scales" if "scales" in mechanism else "scale"
        halves = [f"{int(n) // 64}/{d}" for n, d in (each.split("/") for each in mechanism[place])]
        less = {f"mechanism__{place}": halves}
    path = forge(made(kind), **less)
    assert failed(path)
    with pytest.raises(BundleError):
        Bundle.load(path)


def test_a_changed_byte_in_the_tensors_is_a_step_that_fails(made, tmp_path):
    made("laplace pca").save(tmp_path / "bundle")
    path = tmp_path / "bundle" / TENSORS
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert f"SHA-256 of {TENSORS} differs" in failed(tmp_path / "bundle")["files"]


def test_a_changed_word_in_the_manifest_is_a_step_that_fails(made, tmp_path):
    made("laplace pca").save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"name": "PCA"', b'"name": "Autoencoder"'))
    found = failed(tmp_path / "bundle")
    assert found["manifest"] == "altered: digest differs"
    assert "does not say what the manifest says" in found["card"]


def test_an_edited_certificate_is_named(made, forge):
    assert "“derived_epsilon”" in failed(forge(made("laplace"), certificate__derived_epsilon=0.5))["certificate"]


def test_a_policy_that_promises_more_is_refused(made, forge):
    path = forge(made("paper mode 2"), policy__privacy__guarantee="ldp", policy__privacy__mechanism="auto")
    assert "gives rldp, the policy promises ldp" in failed(path)["policy"]
    with pytest.raises(BundleError, match="gives rldp"):
        Bundle.load(path)


def test_a_sensitive_inference_that_the_mechanism_forgets_is_refused(made, forge):
    path = forge(made("channel rldp"), policy__inferences__sensitive=["person", "mood"])
    assert "“mood”" in failed(path)["policy"]


def test_anything_that_sees_a_window_before_its_directions_are_erased_is_refused(made, forge):
    bundle = made("channel rldp")
    erase, *rest = bundle.manifest.encoder
    for encoder in (
        rest,
        [{"op": "scale", "shift": 0}, erase, *rest],
        [{"op": "residual", "layers": [erase]}, {"op": "round", "low": 0, "high": 9}, *rest],
        [{"op": "concatenation", "branches": [[erase], [{"op": "round", "low": 0, "high": 1}]]}],
    ):
        body = {"encoder": encoder, "mechanism__event__erased": ["person"]}
        path = forge(bundle, **body)
        with pytest.raises(BundleError, match=r"does not begin by erasing|layer"):
            Bundle.load(path)
        assert verify_refuses(path)


def verify_refuses(path):
    try:
        return not verify(path).holds
    except BundleError:
        return True


def test_an_event_that_says_erased_without_an_erasing_layer_is_named(made, forge):
    bundle = made("channel ldp")
    event, erased = bundle.mechanism.event.to_json(), ["person"]
    certificate = bundle.manifest.certificate | {"erased": erased}
    path = forge(bundle, mechanism__event=event | {"erased": erased}, certificate=certificate)
    assert "does not begin by erasing" in failed(path)["erased directions"]
    with pytest.raises(BundleError):
        Bundle.load(path)


def test_a_channel_that_erases_nothing_does_not_keep_a_policy_of_rldp(made, forge):
    path = forge(made("channel ldp"), policy__privacy__guarantee="rldp")
    assert "directions of “person” are not erased" in failed(path)["policy"]


def test_what_is_erased_and_what_is_not_is_said(made, tmp_path):
    made("channel rldp").save(tmp_path / "bundle")
    report = verify(tmp_path / "bundle")
    (found,) = [step.found for step in report.steps if step.name == "erased directions"]
    assert found.startswith("the first layer takes 1 of 8 directions out of a window")
    assert "ε = 5 ldp per window; ε = 0 along the directions of “person”, in any number of draws" in report.promise


def test_an_exchanged_encoder_behind_a_clip_box_costs_accuracy_and_not_privacy(made, forge):
    """What no check without a signature can find, and what no promise rests on."""
    layers = [*made("laplace").manifest.encoder, {"op": "scale", "shift": 3}]
    report = verify(forge(made("laplace"), encoder=layers))
    assert report.holds, report


def test_networks_of_another_shape_are_refused(made, forge):
    path = forge(made("laplace"), encoder=made("laplace").manifest.encoder[:-2])
    assert "networks" in failed(path)
    with pytest.raises(BundleError):
        Bundle.load(path)


def test_what_is_no_file_of_tensors_is_a_step_that_fails(made, forge):
    assert "not a file of tensors" in failed(forge(made("laplace"), files={TENSORS: b"no tensors"}))["networks"]


def test_a_manifest_without_tensors_is_refused(made, forge):
    with pytest.raises(BundleError, match="one file beside its manifest"):
        verify(forge(made("laplace"), files={TENSORS: None}))


def test_a_channel_whose_table_is_too_short_is_refused(made, forge):
    bundle = made("channel ldp")
    path = forge(bundle, mechanism__variants=bundle.mechanism.variants + 1)
    assert "networks" in failed(path)


def test_what_cannot_be_read_is_wrong_input(tmp_path):
    with pytest.raises(BundleError, match="no such bundle"):
        verify(tmp_path / "none")
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(BundleError, match="not a DEEProtect bundle"):
        verify(tmp_path)


def test_a_channel_without_noise_is_said_by_verify_describe_and_protect(made, forge, tmp_path):
    """At an ε so large that the cheapest channel passes codes on as they are."""
    bundle = made("channel ldp")
    whole, rest = (1 << 64) - 1, 1
    fields = bundle.manifest.mechanism
    mechanism = fields | {
        "event": fields["event"] | {"epsilon": 50.0},
        "weights": [f"{whole} {rest}", f"{rest} {whole}"],
    }
    changes = {"mechanism": mechanism, "certificate": mechanisms.load(mechanism).certificate()}
    path = forge(bundle, policy__privacy__epsilon=50.0, **changes)
    sentence = Bundle.load(path).mechanism.noise
    assert sentence.startswith("none")
    assert f"noise: {sentence}" in verify(path).promise
    assert sentence in card(Bundle.load(path))
    table = pa.table({"acc_x": [0.1] * 8, "acc_y": [0.2] * 8})
    pa_csv.write_csv(table, tmp_path / "raw.csv")
    command = ["protect", str(path), str(tmp_path / "raw.csv"), str(tmp_path / "out.csv")]
    assert f"noise: {sentence}" in CliRunner().invoke(app, command).output


def test_directions_that_are_taken_on_trust_are_said_beside_the_verdict(made, tmp_path):
    made("channel rldp").save(tmp_path / "bundle")
    assert "as the bundle's maker fitted them" in verify(tmp_path / "bundle").promise

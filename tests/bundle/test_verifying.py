from dataclasses import replace

import numpy as np
import pytest
from tests.bundle.conftest import KINDS
from tests.bundle.graphs import affine, network
from tests.conftest import identity

from deeprotect.bundle import Bundle, graph
from deeprotect.bundle.verifying import verify
from deeprotect.errors import BundleError
from deeprotect.privacy import laplace
from deeprotect.privacy.box import Box


def failed(path, **options):
    return {step.name: step.found for step in verify(path, **options).steps if step.breaks}


@pytest.fixture
def linear(made):
    """A bundle whose ε rests on the encoder being linear: its clip box is far too wide for the noise."""
    pca = made("laplace pca")
    weights = pca.mechanism.evidence.weights
    mechanism = laplace.certified(Box((-50.0,) * 3, (50.0,) * 3, cells=1 << 20), 5.0, linear=weights)
    changed = {"mechanism": mechanism.to_json(), "certificate": mechanism.certificate()}
    bundle = replace(pca, manifest=pca.manifest.model_copy(update=changed))
    assert bundle.mechanism.clip_epsilon > 100
    return bundle


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_of_every_mechanism_holds(made, kind, tmp_path):
    made(kind).save(tmp_path / "bundle.zip")
    report = verify(tmp_path / "bundle.zip")
    assert report.holds, report
    assert any(step.name.startswith("ε") and step.holds for step in report.steps)
    assert report.verdict == f"holds: {made(kind).mechanism.event}"


def test_a_linear_encoder_is_proved_from_the_graph(linear, forge):
    report = verify(forge(linear))
    steps = {step.name: step for step in report.steps}
    assert report.holds, report
    assert steps["ε from clip box"].holds is None
    assert steps["ε from encoder"].holds
    assert steps["ε from encoder"].needed


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


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx"])
def test_a_changed_byte_in_a_network_is_a_step_that_fails(made, tmp_path, name):
    made("laplace pca").save(tmp_path / "bundle")
    path = tmp_path / "bundle" / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert f"SHA-256 of {name} differs" in failed(tmp_path / "bundle")["files"]


def test_a_changed_word_in_the_manifest_is_a_step_that_fails(made, tmp_path):
    made("laplace pca").save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"name": "PCA"', b'"name": "ACP"'))
    assert failed(tmp_path / "bundle") == {"manifest": "altered: digest differs"}


def test_an_edited_certificate_is_named(made, forge):
    assert "'derived_epsilon'" in failed(forge(made("laplace"), certificate__derived_epsilon=0.5))["certificate"]


def test_a_policy_that_promises_more_is_refused(made, forge):
    path = forge(made("subspace"), policy__privacy__guarantee="ldp", policy__privacy__mechanism="auto")
    assert "gives rldp, the policy promises ldp" in failed(path)["policy"]
    with pytest.raises(BundleError, match="gives rldp"):
        Bundle.load(path)


def test_a_sensitive_inference_that_the_mechanism_forgets_is_refused(made, forge):
    path = forge(made("channel named"), policy__inferences__sensitive=["person", "mood"])
    assert "'mood'" in failed(path)["policy"]


def test_a_ceiling_that_the_mechanism_does_not_keep_is_refused(made, forge):
    for kind in ("channel named", "laplace"):
        path = forge(
            made(kind),
            policy__privacy__guarantee="named",
            policy__privacy__ldp_ceiling=3.0,
        )
        assert "ldp_ceiling" in failed(path)["policy"]


def test_an_exchanged_linear_encoder_is_refused_everywhere(linear, forge):
    weights = linear.mechanism.evidence.weights
    path = forge(linear, files={"encoder.onnx": affine(9 * weights, np.zeros(3))})
    assert {"networks", "encoder", "ε from encoder"} <= set(failed(path))
    with pytest.raises(BundleError, match=r"encoder.onnx is not the affine map"):
        Bundle.load(path)


def test_an_encoder_built_to_pass_when_run_is_caught_by_its_graph(linear, forge):
    """Linear up to 1, a cliff beyond it: no window in the box gets there, but the graph shows it."""
    weights = linear.mechanism.evidence.weights
    cliff = network(8, 3, ("Clip", "low", "high"), ("Gemm", "w", "b"), low=0, high=1, w=weights.T, b=np.zeros(3))
    path = forge(linear, files={"encoder.onnx": cliff})
    Bundle.load(path)
    assert "not one affine map" in failed(path)["encoder"]


def test_an_exchanged_encoder_of_paper_mode_2_is_caught_by_its_lipschitz_constant(made, forge):
    path = forge(made("paper mode 2"), files={"encoder.onnx": affine(np.full((3, 8), 2.0), np.zeros(3))})
    assert "Lipschitz" in failed(path)["encoder"]


def test_an_encoder_before_subspace_noise_that_changes_windows_is_refused(made, forge):
    path = forge(made("subspace"), files={"encoder.onnx": affine(2 * np.eye(8), np.zeros(8))})
    assert {"networks", "encoder"} <= set(failed(path))
    with pytest.raises(BundleError, match="changes windows"):
        Bundle.load(path)


def test_a_decoder_behind_a_channel_that_leaves_the_range_is_refused(made, forge):
    path = forge(made("channel ldp"), files={"decoder.onnx": affine(np.ones((8, 1)), np.zeros(8))})
    assert "outside the public range" in failed(path)["networks"]
    with pytest.raises(BundleError, match="outside the public range"):
        Bundle.load(path)


def test_an_exchanged_encoder_behind_a_clip_box_costs_accuracy_and_not_privacy(made, forge):
    """What no check without a signature can find, and what no promise rests on."""
    path = forge(made("laplace"), files={"encoder.onnx": affine(np.full((3, 8), 1e6), np.zeros(3))})
    report = verify(path)
    assert report.holds, report


def test_networks_of_another_shape_are_refused(made, forge):
    path = forge(made("laplace"), files={"encoder.onnx": identity(8)})
    assert "shapes" in failed(path)


def test_what_is_no_network_is_a_step_that_fails(made, forge):
    assert "not an ONNX network" in failed(forge(made("laplace"), files={"encoder.onnx": b"no graph"}))["shapes"]


def test_a_manifest_without_an_encoder_is_a_step_that_fails(made, forge):
    assert "encoder.onnx is missing" in failed(forge(made("laplace"), files={"encoder.onnx": None}))["shapes"]


def test_without_onnx_what_rests_on_arithmetic_holds_and_what_rests_on_a_graph_is_not_proved(
    made, linear, forge, monkeypatch
):
    monkeypatch.setattr(graph, "present", lambda: False)
    for kind in ("baseline", "laplace", "subspace", "channel ldp", "channel named"):
        assert verify(forge(made(kind))).holds
    report = verify(forge(linear))
    assert not report.holds
    assert "not proved" in report.verdict
    assert "pip install deeprotect[train]" in report.verdict


def test_what_cannot_be_read_is_wrong_input(tmp_path):
    with pytest.raises(BundleError, match="no such bundle"):
        verify(tmp_path / "none")
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(BundleError, match="not a DEEProtect bundle"):
        verify(tmp_path)

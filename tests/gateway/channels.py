"""Bundles with a channel for tests of the gateway, made by hand."""

from dataclasses import replace

import numpy as np
from tests.networks import largest

from deeprotect.bundle import Bundle
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.channel.scripts import ScriptResponse, Scripts

POLICY = """
version = 1
[stream]
rate_hz = 10
window = 4
[stream.channels.acc_x]
unit = "g"
range = [-4.0, 4.0]
[stream.channels.acc_y]
unit = "g"
range = [-4.0, 4.0]
[inferences]
useful = ["activity"]
[privacy]
epsilon = 5.0
mechanism = "channel"
"""
LIMITED = POLICY + "[privacy.budget]\nper_hour = 600.0\n"


def mechanism_of(policy: Policy, prior):
    """Randomised response of labels, or of scripts of one change where the policy has slots."""
    codes, epsilon = len(prior), policy.privacy.epsilon
    if policy.slot_windows is None:
        return make(design(1.0 - np.eye(codes), np.array(prior), ldp_epsilon=epsilon))
    scripts = Scripts(codes, policy.hold.windows // policy.slot_windows, 1, policy.slot_windows)
    return ScriptResponse.of(
        scripts, epsilon, prior=tuple((np.array(prior) / sum(prior)).tolist()), cost=1.0 - np.eye(codes)
    )


def channel_bundle(policy: Policy | None = None, *, prior=(1.0, 1.0, 1.0, 1.0)) -> Bundle:
    """Codes are places of the largest sample, modulo their number; outputs are as many flat windows."""
    policy = policy or Policy.from_toml(LIMITED)
    dim, codes = policy.schema().dim, len(prior)
    mechanism = mechanism_of(policy, prior)
    return Bundle.make(
        policy,
        replace(mechanism, event=replace(mechanism.event, per=policy.hold.per)),
        encoder=largest(dim, np.arange(dim) % codes),
        decoder=OutputTable.of(np.rint(np.linspace(4, 12, codes))[:, None] / 16 * np.ones((1, dim))),
        feature_extractor={"name": "code book", "expected_accuracy": 0.9},
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )

"""A gateway for a phone with three axes, and what the phone app sends to it."""

import json

from tests.gateway.conftest import POLICY, START, STEP, channel_bundle

from deeprotect.gateway.mediation.gateway import Gateway, Settings

CANARY = 1.23456789  # g; nothing that is released may show it
THREE_AXES = POLICY.replace("[inferences]", '[stream.channels.acc_z]\nunit = "g"\nrange = [-4.0, 4.0]\n[inferences]')
G = 9.80665
LEVELS = (-2.0 * G, -0.5 * G, 0.5 * G, 2.0 * G)  # the four outputs in m/s²


def phone_gateway(folder, *, stream="watch", push=None, **settings):
    """One device, one app."""
    path = folder / "protector"
    channel_bundle(THREE_AXES).save(path)
    gateway = Gateway(Settings({"protector": path}, str(folder / "ledger.sqlite"), **settings))
    gateway.registry.add_device(stream)
    gateway.registry.add_app("fitness", stream=stream, bundle="protector", push=push)
    gateway.directory.refresh()
    return gateway


def pushed(first, count, *, name="totalacceleration", session="anns-session", start=START):
    """What the app would push: `count` readings from tick `first`, with more than the policy names."""
    payload = [
        {"name": name, "values": {"z": CANARY * G, "y": CANARY, "x": CANARY}, "accuracy": 3, "time": start + k * STEP}
        for k in range(first, first + count)
    ]
    payload.append({"name": "location", "time": start, "values": {"latitude": CANARY, "longitude": CANARY}})
    message = {"messageId": first, "sessionId": session, "deviceId": "anns-phone", "payload": payload}
    return json.dumps(message).encode()


def button():
    message = {
        "messageId": 0,
        "sessionId": "s",
        "deviceId": "d",
        "payload": [{"name": "test", "time": 0, "values": []}],
    }
    return json.dumps(message).encode()


def is_raw(body):
    """Whether anything of the phone's own is in a released message."""
    text = body.decode()
    return any(sign in text for sign in (str(CANARY), str(CANARY * G)[:9], "anns-", "location"))

"""Policies, messages of the phone app, and released windows for the tests of wire formats."""

import json

import numpy as np

from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.signals import Channel, Schema
from deeprotect.signals.readings import Readings

G = 9.80665
T0 = 1698501144401773123  # beyond 2^53, and no multiple of what a float can hold


def schema(acc="m/s²", gyro="rad/s", *, prefix="acc", extra=()):
    axes = "xyz"
    channels = [Channel(f"{prefix}_{axis}", acc, -80.0, 80.0) for axis in axes]
    channels += [Channel(f"gyro_{axis}", gyro, -2000.0, 2000.0) for axis in axes] if gyro else []
    return Schema((*channels, *extra), 50.0, 10)


def entry(name, time, x, y, z, **more):
    """As the app writes it on Android."""
    return {"name": name, "values": {"z": z, "y": y, "x": x}, "accuracy": 3, "time": time, **more}


def body(*payload, session="c5ae-60-4-95-1917", **more):
    message = {"messageId": 46, "sessionId": session, "deviceId": "62be-97-4f-a7-e06b", "payload": list(payload)}
    return json.dumps(message | more).encode()


def released(message: Message, of: Schema, *, values=None, number=7) -> ReleasedWindow:
    """A window under the stamps of a message, whose values are what was drawn, not what was read."""
    rng = np.random.default_rng(3)
    ticks = T0 + np.arange(of.window, dtype=np.int64) * 20_000_000
    drawn = rng.uniform(-1, 1, (of.window, len(of.names))) if values is None else values
    places = {name: place for place, name in enumerate(of.names)}
    readings = tuple(
        Readings(
            each.sensor,
            each.channels,
            each.times_ns,
            drawn[np.ix_(np.arange(len(each)) % of.window, [places[name] for name in each.channels])],
        )
        for each in message.readings
    )
    return ReleasedWindow("walker", "12", number, of.names, ticks, drawn, readings)

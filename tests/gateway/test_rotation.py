"""Tokens that are rotated while a real gateway runs: nobody loses a window, and nobody keeps what was taken back."""

from datetime import timedelta

import pytest
from tests.gateway.live import Consumer, check_paid, until


@pytest.mark.long
def test_a_device_and_an_app_change_tokens_without_a_gap_and_the_old_ones_end(gateway):
    gateway.make("ann").start()
    old = Consumer(gateway, "ann")
    gateway.send("ann", 0, 8)
    old.wait_for(2)
    registry, before = gateway.registry(), dict(gateway.tokens)
    gateway.tokens["ann"] = registry.rotate("ann", overlap=timedelta(seconds=8))
    gateway.tokens["ann/fitness"] = registry.rotate("ann", app="fitness", overlap=timedelta(seconds=8))
    new = Consumer(gateway, "ann")  # at once: it is looked for in the registry
    assert gateway.send("ann", 8, 8).status_code == 200
    new.wait_for(2)
    old.wait_for(4)
    assert len(gateway.charged()) == 4  # one draw for a window, whoever reads it

    def old_address():
        return gateway.post("ann", b'{"payload": [{"name": "test"}]}').status_code

    fresh, gateway.tokens["ann"] = gateway.tokens["ann"], before["ann"]
    until(lambda: old_address() == 404, "the old address to end")
    gateway.tokens["ann"] = fresh
    gateway.send("ann", 16, 8)
    new.wait_for(4)
    until(lambda: old.over, "the old token's connection to end")
    assert len(old.windows) == 4
    check_paid(gateway, new)
    gateway.check_no_token()


def test_an_app_that_was_registered_this_instant_is_known(gateway):
    gateway.make().start()
    gateway.register("bob")
    assert Consumer(gateway, "bob").failure is None

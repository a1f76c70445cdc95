"""Two processes of one gateway, here in one loop: each sees what the other has, and nothing raw."""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace

import numpy as np
from tests.gateway.conftest import message

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.gateway_settings import Settings
from deeprotect.gateway.mediation.onlookers import own_statuses, statuses
from deeprotect.gateway.mediation.outlet import read_window, released_windows, write_window
from deeprotect.gateway.mediation.peers import ProcessPlace
from deeprotect.gateway.service import create_service
from deeprotect.gateway.wire.message import ReleasedWindow

CANARY = 3.141592


def test_a_process_sees_what_another_has(tmp_path, bundle_path):
    asyncio.run(asyncio.wait_for(_look(tmp_path, bundle_path), 60))


async def _look(tmp_path, bundle_path):
    settings = Settings(bundles={"walk": bundle_path}, database=str(tmp_path / "gateway.sqlite"))
    first = Gateway.of(settings, ProcessPlace(0, 2, tmp_path))
    first.registry.add_device("watch", person="anna")
    first.registry.add_app("fit", stream="watch", bundle="walk")
    pair = [Gateway.of(settings, ProcessPlace(index, 2, tmp_path)) for index in range(2)]
    owner, other = sorted(pair, key=lambda each: not each.place.owns("watch"))
    async with AsyncExitStack() as stack:
        for each in pair:
            service = create_service(each)
            await stack.enter_async_context(service.router.lifespan_context(service))
        looking = asyncio.create_task(anext(released_windows(other, other.directory.apps_of("watch")[0])))
        while not owner.mediator._hub.topics():
            await asyncio.sleep(0.01)
        await owner.mediator.receive(owner.directory.device("watch"), message(0, 40, value=CANARY))
        window, found = await looking, await statuses(other)
    assert (window.stream, window.channels) == ("watch", ("acc_x", "acc_y"))
    assert "3.14" not in write_window(window).decode()
    assert [each.stream for each in found] == ["watch"]
    assert found[0].last_reading is not None
    assert found[0].apps[0].released > 0


def test_a_process_that_is_gone_is_not_waited_for(tmp_path, bundle_path):
    settings = Settings(bundles={"walk": bundle_path}, database=str(tmp_path / "gateway.sqlite"))
    alone = Gateway.of(settings, ProcessPlace(0, 2, tmp_path))
    alone.registry.add_device("watch")
    alone.directory.refresh()
    assert [each.stream for each in asyncio.run(statuses(alone))] == ["watch"]


def test_a_window_and_a_status_go_through_a_frame_unchanged(tmp_path, bundle_path):
    settings = Settings(bundles={"walk": bundle_path}, database=str(tmp_path / "gateway.sqlite"))
    gateway = Gateway.of(settings)
    gateway.registry.add_device('a "quoted" name')
    gateway.directory.refresh()
    assert json.loads(json.dumps(own_statuses(gateway)))["streams"][0]["stream"] == 'a "quoted" name'
    times = 1_700_000_000_123_456_789 + np.arange(3, dtype=np.int64)
    window = _window(times)
    again = read_window(write_window(window))
    assert (again.times_ns == times).all()
    assert (again.values == window.values).all()
    assert replace(again, times_ns=None, values=None) == replace(window, times_ns=None, values=None)


def _window(times):
    return ReleasedWindow("s", "1", 7, ("x", "y"), times, np.array([[0.1, 1 / 3]] * 3), (), placeholder=True)

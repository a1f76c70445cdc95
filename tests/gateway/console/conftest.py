"""A gateway with hostile names in it, its console in this process, and an admin who signs in as a browser would."""

import re
import warnings
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace

import pytest
from fastapi import FastAPI
from tests.gateway.conftest import channel_bundle

from deeprotect.gateway.console.routes import add_console
from deeprotect.gateway.mediation.gateway import Gateway, Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another client than the one that we install
    from fastapi.testclient import TestClient

HOSTILE = "\"><script>alert('x')</script>&{{7*191}}"
ORIGIN = "http://127.0.0.1:8765"


@pytest.fixture(scope="session")
def protector(tmp_path_factory):
    path = tmp_path_factory.mktemp("bundles") / "protector"
    channel_bundle(budget={"per_hour": 600.0, "per_day": 3000.0}).save(path)
    return path


@pytest.fixture
def gateway(tmp_path, protector):
    """Two streams of one person; names try to be markup."""
    settings = Settings(bundles={"walk": protector}, database=str(tmp_path / "gateway.sqlite"))
    made = Gateway(settings)
    made.registry.add_device("watch", person=HOSTILE)
    made.registry.add_app("fit", stream="watch", bundle="walk")
    made.registry.add_device(HOSTILE, person=HOSTILE)
    made.registry.add_app(HOSTILE, stream=HOSTILE, bundle="walk")
    made.directory.refresh()
    return made


def service_of(gateway):
    @asynccontextmanager
    async def lifespan(_):
        async with gateway.running():
            yield

    service = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None)
    add_console(service, gateway)
    return service


class Admin:
    """A browser: it keeps cookies, says where it comes from, and sends back what stood in a form."""

    def __init__(self, client, token):
        self.client, self.token = client, token

    def get(self, path, **headers):
        return self.client.get(path, headers=headers)

    def post(self, path, *, page="/", headers=None, **fields):
        token = re.search(r'name="token" value="([0-9a-f]+)"', self.get(page).text)[1]
        sent = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"} | (headers or {})
        return self.client.post(path, data={"token": token} | fields, headers=sent)

    def sign_in(self, token=None):
        return self.post("/console/sign-in", page="/console/sign-in", admin=token or self.token)


@pytest.fixture
def stranger(gateway):
    """Not signed in yet, from this machine."""
    token = gateway.registry.new_admin()
    with TestClient(
        service_of(gateway), base_url=ORIGIN, client=("127.0.0.1", 50000), follow_redirects=False
    ) as client:
        yield Admin(client, token)


@pytest.fixture
def admin(stranger):
    assert stranger.sign_in().status_code == 303
    return stranger


@pytest.fixture
def from_elsewhere(gateway):
    """Signed in, from another machine."""
    token, there = gateway.registry.new_admin(), "http://192.168.1.5:8765"
    exposed = copy(gateway)
    exposed.settings = replace(gateway.settings, host="0.0.0.0")
    with TestClient(
        service_of(exposed),
        base_url=there,
        client=("192.168.1.77", 50000),
        follow_redirects=False,
    ) as client:
        other = Admin(client, token)
        fields = {"admin": token, "token": re.search(r'value="([0-9a-f]+)"', other.get("/console/sign-in").text)[1]}
        assert client.post("/console/sign-in", data=fields, headers={"Origin": there}).status_code == 303
        yield other

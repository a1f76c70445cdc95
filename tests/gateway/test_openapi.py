"""The service does what its OpenAPI description says, whatever schemathesis makes of it."""

import json
import tempfile
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance
from tests.gateway.canary import leaks
from tests.gateway.test_mediator import made

from deeprotect.gateway.serving import create_service

EXAMPLES = 30
KEPT = Path(__file__).parents[2] / "docs" / "gateway-openapi.json"
# Lists of one length, and times that lie near each other, are more than a schema can ask for: such a message is valid
# by the description and refused all the same, so that schemathesis must not count refusals.


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of schemathesis and what it is built on
def test_every_operation_answers_as_described_and_never_fails(gateway):
    gateway.make("ann").start()
    schema = schemathesis.openapi.from_url(f"{gateway.url}/openapi.json")
    operations = [each.ok() for each in schema.get_all_operations()]
    labels = {each.label for each in operations}
    assert {"POST /in/{token}", "GET /out", "GET /healthz", "GET /readyz", "GET /metrics"} <= labels
    assert {"POST /api/v2/write", "GET /registry", "POST /registry", "POST /registry/revoke"} <= labels
    for operation in operations:
        _attack(gateway, operation, "no-such-token")
    _attack(gateway, next(each for each in operations if each.label == "POST /in/{token}"), gateway.tokens["ann"])
    admin = {"authorization": f"Bearer {gateway.registry().new_admin()}"}
    for operation in (each for each in operations if "/registry" in each.label):
        _attack(gateway, operation, "", headers=admin)
    device = {"authorization": f"Token {gateway.tokens['ann']}"}
    _attack(gateway, next(each for each in operations if each.label == "POST /api/v2/write"), "", headers=device)
    assert gateway.alive()
    assert "failed" not in gateway.log()
    gateway.check_nothing_raw()
    gateway.check_no_token()


def test_the_description_in_the_docs_is_the_one_that_is_served(tmp_path):
    """Written anew by: python -m tests.gateway.test_openapi"""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert kept == described(tmp_path)


def described(folder):
    found = create_service(made(folder)).openapi()
    found["info"]["version"] = "of the gateway"  # else every release would change it
    return json.loads(json.dumps(found))


def _attack(gateway, operation, token, headers=None):
    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=operation.as_strategy())
    def attack(case):
        if "token" in (case.path_parameters or {}):
            case.path_parameters["token"] = token
        answer = case.call(timeout=60, headers=headers)
        excluded = [
            positive_data_acceptance,
            *([ignored_auth] if headers else []),
        ]  # it takes a good token for a bad one
        case.validate_response(answer, excluded_checks=excluded)
        gateway.answers.append(answer.content)
        assert answer.status_code < 500
        assert not leaks(answer.content)

    attack()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        KEPT.write_text(json.dumps(described(Path(made_in)), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

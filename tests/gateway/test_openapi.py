"""The service does what its OpenAPI description says, whatever schemathesis makes of it."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.gateway.canary import leaks

EXAMPLES = 30
# Lists of one length, and times that lie near each other, are more than a schema can ask for: such a message is valid
# by the description and refused all the same, so that schemathesis must not count refusals.


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of schemathesis and what it is built on
def test_every_operation_answers_as_described_and_never_fails(gateway):
    gateway.make("ann").start()
    schema = schemathesis.openapi.from_url(f"{gateway.url}/openapi.json")
    operations = [each.ok() for each in schema.get_all_operations()]
    assert {"POST /in/{token}", "GET /out", "GET /healthz", "GET /readyz", "GET /metrics"} <= {
        each.label for each in operations
    }
    for operation in operations:
        _attack(gateway, operation, "no-such-token")
    _attack(gateway, next(each for each in operations if each.label == "POST /in/{token}"), gateway.tokens["ann"])
    assert gateway.alive()
    assert "failed" not in gateway.log()
    gateway.check_nothing_raw()
    gateway.check_no_token()


def _attack(gateway, operation, token):
    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=operation.as_strategy())
    def attack(case):
        if "token" in (case.path_parameters or {}):
            case.path_parameters["token"] = token
        answer = case.call(timeout=60)
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])
        gateway.answers.append(answer.content)
        assert answer.status_code < 500
        assert not leaks(answer.content)

    attack()

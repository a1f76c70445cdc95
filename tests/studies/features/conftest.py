"""The made-up stream of the evaluation's tests."""

from tests.evaluation import conftest as made_up

policy, table, windows, runner = made_up.policy, made_up.table, made_up.windows, made_up.runner

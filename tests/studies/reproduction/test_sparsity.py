"""The KL term of the paper's autoencoder."""

from tests.evaluation.conftest import runner

from studies.reproduction.sparsity import STRONG, TRIED, WEAK, compare_sparsity

__all__ = ["runner"]


def test_a_strong_term_pulls_the_units_to_rho_and_a_weak_one_does_not(runner):
    rows = compare_sparsity(runner)
    assert [(row.rho, row.weight) for row in rows] == list(TRIED)
    found = {(row.rho, row.weight): row for row in rows}
    assert found[0.05, STRONG].activity < 0.25
    assert found[0.05, WEAK].activity > 0.3
    assert found[0.05, STRONG].activity < found[0.2, STRONG].activity < found[0.5, STRONG].activity
    assert all(0 <= row.accuracy_ci[0] <= row.accuracy <= row.accuracy_ci[1] <= 1 for row in rows)

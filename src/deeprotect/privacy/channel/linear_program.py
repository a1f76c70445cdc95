"""A linear programme over a channel, built row by row and solved by HiGHS."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deeprotect.errors import DeeprotectError
from deeprotect.privacy.channel.betting import Floats

Places = NDArray[Any]  # of whole numbers

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_NOTHING = (np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
_LARGE = 6000  # variables from which the interior-point method is the faster one


class LinearProgram:
    """Minimise Σ objective * Q over channels Q (code, output), all variables in [0, 1], all further rows ≤ 0."""

    def __init__(self, objective: Floats) -> None:
        self.objective = objective
        self._rows = self._variables = 0
        self._parts: list[tuple[Floats, Places, Places]] = []
        self.channel: NDArray[Any] = self.variables(objective.size).reshape(objective.shape)

    def variables(self, count: int) -> Places:
        """Places of new variables."""
        self._variables += count
        return np.arange(self._variables - count, self._variables)

    def add_le_zero(self, *terms: tuple[ArrayLike, ArrayLike]) -> None:
        """Rows Σ value * variable ≤ 0; each term gives values and places that broadcast to (row, entry)."""
        parts = [np.broadcast_arrays(np.asarray(values, dtype=np.float64), places) for values, places in terms]
        count = len(parts[0][0])
        for values, places in parts:
            flat = values.reshape(count, -1)
            rows = np.repeat(np.arange(self._rows, self._rows + count), flat.shape[1])
            self._parts.append((flat.ravel(), rows, places.ravel()))
        self._rows += count

    def _limits(self) -> Any:
        from scipy.sparse import coo_array  # slow to import, and releases do not need it

        values, rows, places = (np.concatenate(part) for part in zip(_NOTHING, *self._parts, strict=True))
        return coo_array((values, (rows, places)), shape=(self._rows, self._variables)).tocsr()

    def solve(self) -> Floats:
        """The best channel, to the solver's tolerance."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        codes = len(self.objective)
        sums = coo_array(
            (np.ones(self.channel.size), (np.repeat(np.arange(codes), self.channel.shape[1]), self.channel.ravel())),
            shape=(codes, self._variables),
        ).tocsr()
        objective = np.concatenate([self.objective.ravel(), np.zeros(self._variables - self.objective.size)])
        first = "highs-ipm" if self._variables > _LARGE else "highs-ds"
        for method, options in ((first, _TIGHT), ("highs-ds", _TIGHT), ("highs", {})):
            found = linprog(
                objective,
                A_ub=self._limits(),
                b_ub=np.zeros(self._rows),
                A_eq=sums,
                b_eq=np.ones(codes),
                bounds=(0.0, 1.0),
                method=method,
                options=options,
            )
            if found.status == 0:
                clean = np.maximum(found.x[self.channel], 0.0)
                return np.asarray(clean / clean.sum(axis=1, keepdims=True))
        raise DeeprotectError("the channel's linear programme was not solved; use fewer codes or a larger epsilon")

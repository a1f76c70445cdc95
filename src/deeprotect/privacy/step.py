"""One step of a derivation: what was worked out again, whether it holds, and the numbers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """`holds` is None where nothing could or had to be checked; `needed` says that the promise rests on it."""

    name: str
    holds: bool | None
    found: str
    needed: bool = False

    @property
    def breaks(self) -> bool:
        return self.holds is False or (self.holds is None and self.needed)

    def __str__(self) -> str:
        sign = {True: "ok", False: "FAILS", None: "open" if self.needed else "-"}[self.holds]
        return f"{sign:6}{self.name:20}{self.found}"

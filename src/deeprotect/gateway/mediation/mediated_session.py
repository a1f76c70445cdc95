"""A session as the mediator keeps it: on the terms that it began with, and with what may be told of it meanwhile."""

from dataclasses import dataclass, field

from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.live_session import LiveSession


@dataclass(eq=False)
class MediatedSession(LiveSession):
    """What is told is of its last message: the next may be in work, in another thread."""

    begun_with: dict[str, App] = field(default_factory=dict)  # by key
    late_then: int = 0
    missing_then: tuple[str, ...] = ()

    def given(self, app: App) -> App:
        """The app on the terms that this session began with: another ε or hold is for the next one.

        Else two draws would be made for one episode. docs/claims.md#choices-below-a-bundle
        """
        return self.begun_with.setdefault(app.key, app)

    def note(self) -> None:
        """What may be told from now on; while nobody works on it."""
        self.late_then, self.missing_then = self.late, tuple(dict.fromkeys(self.missing()))

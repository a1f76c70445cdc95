"""Who is charged: a stream of one person, released to one app."""

from dataclasses import dataclass

from deeprotect.privacy.names import check_names


@dataclass(frozen=True)
class Account:
    """One app's part of a stream. Limits are the person's: whatever leaves about them, to whichever app, adds up.

    Without a person, the stream is one of its own; in a ledger a stream belongs to the person that it began with.
    """

    stream: str
    person: str | None = None
    app: str = ""  # the apps of one person may compare what they got, so they are never counted apart

    def __post_init__(self) -> None:
        check_names([self.stream], "the name of a stream")
        check_names([] if self.person is None else [self.person], "the name of a person")
        check_names([self.app] if self.app else [], "the name of an app")

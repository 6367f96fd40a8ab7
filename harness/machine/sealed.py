"""Entries that are models, each with the digest of what it says: one that is cut, or another's, is none."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TypeVar

from pydantic import Field, ValidationError

from harness.machine.entries import Entries
from harness.model.trial import Model, digest


class SealedEntry(Model):
    """An entry.

    Attributes:
        made: The day on which it was.
        sum: The digest of all the rest.
    """

    key: str
    made: date = Field(default_factory=lambda: datetime.now(UTC).date())
    sum: str = ""

    @property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json", exclude={"sum"}))


E = TypeVar("E", bound=SealedEntry)


class SealedEntries(Entries):
    """A folder of them. Whatever cannot be kept is not kept."""

    def find_entry(self, key: str, form: type[E]) -> E | None:
        """None: there is none, or it is damaged and removed."""
        try:
            entry = form.model_validate_json(self.read(key))
            if (entry.key, entry.sum) == (key, entry.digest):
                return entry
        # before OSError, of which it is one: what is not there is not damaged
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            pass
        self.forget(key)
        return None

    def keep_entry(self, entry: SealedEntry) -> None:
        """In place of the one that was there."""
        with suppress(OSError):
            self.write(entry.key, entry.model_copy(update={"sum": entry.digest}).model_dump_json().encode())

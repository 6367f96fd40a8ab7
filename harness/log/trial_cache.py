"""Finished trials, kept across runs: a parcel each (harness/log/parcel.py), in a file named by the trial's key.

Whoever asked for a log judges it before it is in its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from harness.log import parcel
from harness.log.blobs import BlobError, Blobs, Unwritable
from harness.log.parcel import Head, ParcelError
from harness.log.reader import Played
from harness.machine import files
from harness.machine.entries import Entries


@dataclass(frozen=True)
class TrialCache(Entries):
    """A folder of trials. Whatever cannot be kept is not kept."""

    suffix: ClassVar[str] = ".trial"

    def keep(self, key: str, played: Played) -> None:
        """Writes the entry of a trial that was just read back, in place of the one that was there."""
        with suppress(OSError, BlobError, ParcelError):
            self.write(key, parcel.pack(key, played))

    def find_day(self, key: str) -> date | None:
        """When the trial of this key was played; None: there is no entry."""
        try:
            with files.open_regular(self.find_path(key)) as file, os.fdopen(file, "rb", closefd=False) as stream:
                return Head.model_validate_json(stream.readline()).played
        except (OSError, ValidationError):
            return None

    def restore(self, key: str, target: Path, blobs: Blobs, believe: Callable[[Path], bool]) -> bool:
        """Puts an entry's blobs and its log in place. False: there is none, or it is not believed and is removed.

        Raises Unwritable.

        Args:
            target: Of the log; nothing is there before `believe` has read all of it beside that.
        """
        try:
            parcel.unpack(key, self.read(key)).place(target, blobs, believe)
        # an OSError as well, but of the run's folder and not of the entry, which stays
        except Unwritable:
            raise
        except FileNotFoundError:
            return False
        except (OSError, ParcelError):
            # it would be read and refused each time
            self.forget(key)
            return False
        return True

"""What a million tokens of a chat model cost: a table that its owner keeps, with the day on which it was right."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from harness.model.trial import Model

MILLION = 1_000_000


class PricesError(ValueError):
    """A table that cannot be read: one line with the file, the key and the reason."""


class Price(Model):
    """Prices of a million tokens.

    Attributes:
        cached: Of prompt tokens that the provider read from its cache; None: as other prompt tokens.
    """

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """The cost of so many tokens; `cached` are among those of the prompt."""
        read = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * read + completion * self.completion) / MILLION


class Prices(Model):
    """What was asked for tokens on one day.

    Attributes:
    day: On which these prices were right.
    currency: As it stands behind a sum.
    models: The model's name, as its endpoint calls it -> its price.
    """

    model_config = ConfigDict(serialize_by_alias=True)
    # not named `date`, which would hide the type of the same name in this class
    day: date = Field(alias="date")
    currency: str = Field(min_length=1, max_length=12)
    models: Mapping[str, Price] = {}

    def __str__(self) -> str:
        return f"prices of {self.day} in {self.currency}"


def check_prices(table: Mapping[str, Any], file: Path) -> Prices:
    """The table that a file holds. Raises PricesError."""
    try:
        return Prices.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the table"
        raise PricesError(f"{file}: {key}: {first['msg'].lower()}") from None

"""Faults of names that are rewritten before scopes are compared: by a path, a form, a list or a parser."""

from __future__ import annotations

import json

from harness.adapter import Scope
from harness.selftest.planted.base import Planted
from harness.selftest.planted.isolation import PARTS
from harness.selftest.planted.scopes import Keyed


class _Named(Keyed):
    def name(self, value: str) -> str:
        raise NotImplementedError

    def key(self, scope: Scope) -> str:
        return json.dumps([value and self.name(value) for value in (getattr(scope, part) for part in PARTS)])


class DropsTrailingSlashes(Planted):
    """`apps/` is `apps`."""

    must = ("leaks_by_path",)

    class Memory(_Named):
        def name(self, value: str) -> str:
            return value.rstrip("/") or value


class TurnsBackslashes(Planted):
    r"""`web\api` is `web/api`."""

    must = ("leaks_by_separator",)

    class Memory(_Named):
        def name(self, value: str) -> str:
            return value.replace("\\", "/")


class ReadsNamesAsBooleans(Planted):
    """Names pass through YAML: no, off and false are one name."""

    must = ("leaks_by_word",)

    class Memory(_Named):
        def name(self, value: str) -> str:
            return "False" if value.lower() in ("no", "off", "false") else value


class TakesUndefinedForNone(Planted):
    """A part that is not set is written as `undefined`, as is a part of that name."""

    must = ("leaks_by_word",)

    class Memory(Keyed):
        def key(self, scope: Scope) -> str:
            return json.dumps([value if value is not None else "undefined" for value in vars(scope).values()])


class DropsAts(Planted):
    """`@ana` is `ana`, and `#12` is `12`."""

    must = ("leaks_by_address",)

    class Memory(_Named):
        def name(self, value: str) -> str:
            return value[1:] if value[:1] in ("@", "#") and value[1:].isalnum() else value


class EndsNamesAtCommas(Planted):
    """A list of names has commas between them: of `Neill, Dana` only `Neill` is compared."""

    must = ("leaks_by_address",)

    class Memory(_Named):
        def name(self, value: str) -> str:
            return value.split(",")[0]


class EndsNamesAtSemicolons(Planted):
    """`web;v=1` is `web`."""

    must = ("leaks_by_separator",)

    class Memory(_Named):
        def name(self, value: str) -> str:
            return value.split(";")[0]

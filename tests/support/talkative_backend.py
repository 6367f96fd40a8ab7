"""An adapter that says hostile things, and its secrets, wherever it can say anything. A fault for tests, no backend.

Standard library and `harness.adapter` only: it is played in child processes.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from harness.adapter import Ack, Hit, Item, Layer, Memory, Scope, Space, Support, Usage
from tests.support.faulty_backends import Sound, SoundMemory

HOSTILE = (
    "x\x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u2066 a\u200bb\r\n::error file=a,line=1::owned\n##[error]owned "
    "##vso[task.setvariable variable=x]y ##teamcity[buildStatus status='SUCCESS']\x9b2J\x00"
)
LENT = "COLDWARM_TEST_LENT"
"""The environment variable that it opens with."""


def leaked(secrets: Sequence[str]) -> str:
    """Every form of every secret that a program gives it without meaning to hide it."""
    return " ".join(
        form
        for secret in secrets
        for form in (
            secret,
            quote(secret, safe=""),
            quote(secret, safe="").lower(),
            *(base64.b64encode(b"x" * n + secret.encode() + b"yz").decode() for n in range(3)),
            base64.urlsafe_b64encode(secret.encode()).decode(),
            secret.encode().hex(),
        )
    )


class TalkativeMemory(SoundMemory):
    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.secrets = [space.settings[LENT], space.settings["api_key"]]
        self.says = f"{HOSTILE} {leaked(self.secrets)}"
        print(self.says)  # noqa: T201  what it prints is kept, too
        os.write(2, self.says.encode())
        name = f"\x1b[31m\u202e {self.secrets[1]}.json".replace("/", "_")
        Path(space.root, name).write_text(self.says)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack((f"{HOSTILE} {self.secrets[0]} {ack.ids[0]}",)) for ack in super().remember(items)]

    def hit(self, name: str) -> Hit:
        item = self.items[name]
        return Hit(f"{HOSTILE} {self.secrets[0]} {name}", f"{item.text} {self.says}", 0.5, item.source, self.says)

    def entries(self, scope: Scope) -> list[Hit]:
        raise ValueError(self.says)

    def usage(self) -> Usage:
        raise RuntimeError(self.says)


class Talkative(Sound):
    native = (*Sound.native, "usage")
    settings = ("api_key",)
    secrets: ClassVar = (LENT,)
    memory: ClassVar[type[SoundMemory]] = TalkativeMemory

    @property
    def support(self) -> dict[str, Support]:
        return {name: Support(each.level, f"{name} {HOSTILE}") for name, each in super().support.items()}

    def version(self) -> str:
        return f"1 {HOSTILE}"

    def open(self, space: Space) -> Memory:
        return self.memory(space)

    def storage(self, space: Space) -> list[Layer]:
        said = leaked([space.settings["api_key"]])
        return [Layer(f"{HOSTILE} {said}", ".", "file"), Layer("gone", f"{HOSTILE} {said}", "file")]

"""No secret is written down, in whichever plain form it comes back; what is none is left as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.log.blobs import Blobs
from harness.log.events import Closed, Sought
from harness.log.lines import Writer
from harness.log.reader import read
from harness.log.redaction import Redactor
from tests.support.logs import Tape
from tests.support.talkative_backend import leaked

SECRETS = ("hunter2-and-more", 'sl/ash+pl"us\\n\u00fc', "n123456")
REDACTOR = Redactor(SECRETS)


@pytest.mark.parametrize("secret", SECRETS)
def test_every_form_that_hides_nothing_is_cut_out(secret: str) -> None:
    shown = REDACTOR.text(f"before {leaked([secret])} {json.dumps(secret)} after")
    assert shown.startswith("before [redacted] ") and shown.endswith(" after")
    for form in leaked([secret]).split():
        assert form not in shown


def test_json_stays_json_whatever_stands_beside_an_escape() -> None:
    told = {"n": 1, "ok": [{"text": "a\n123456 is none", SECRETS[1]: ["n123456", None, 1.5, True]}]}
    shown = json.loads(REDACTOR.data(json.dumps(told).encode()))
    assert shown == {"n": 1, "ok": [{"text": "a\n123456 is none", "[redacted]": ["[redacted]", None, 1.5, True]}]}


def test_a_secret_of_digits_may_come_back_as_a_number() -> None:
    shown = Redactor(["123456789012"]).data(b'{"key": 123456789012, "share": 0.5, "whole": true, "none": null}')
    assert json.loads(shown) == {"key": "[redacted]", "share": 0.5, "whole": True, "none": None}


def test_what_is_no_json_is_text() -> None:
    assert REDACTOR.data(b"\xff hunter2-and-more {") == b"\xff [redacted] {"


@given(st.text())
def test_what_holds_no_secret_is_left_as_it_is(text: str) -> None:
    nothing = Redactor()
    assert nothing.text(text) == text and nothing.data(text.encode("utf-8", "replace")) == text.encode(
        "utf-8", "replace"
    )


def test_a_mere_word_or_number_is_in_any_text() -> None:
    assert Redactor(["enabled", "100000", "a1", ""]).text("enabled 100000 a1") == "enabled 100000 a1"
    assert Redactor(["correcthorsebattery", "123456789012", "hunter2"]).text(
        "correcthorsebattery 123456789012 hunter2"
    ) == "[redacted] [redacted] [redacted]"  # fmt: skip


def test_logs_and_blobs_hold_none(tmp_path: Path) -> None:
    tape = Tape(tmp_path)
    with Writer(tmp_path / "one.jsonl", REDACTOR) as log:
        for event in (tape.events[0], Sought(stage="after", route="get", fact="pin", where=leaked(SECRETS))):
            log.append(event)
        log.append(Closed(status="complete"))
    told = read(tmp_path / "one.jsonl", tape.blobs)
    assert told.sealed and told.closed and "hunter2" not in (tmp_path / "one.jsonl").read_text()
    blobs = Blobs(tmp_path / "more")
    blobs.redactor = REDACTOR
    assert b"hunter2" not in blobs.get(blobs.put(leaked(SECRETS).encode()))

"""Looking for canaries in the bytes of a store: what is there is found, what cannot be looked at is said."""

from __future__ import annotations

import base64
import binascii
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.log.parts import Sighting
from harness.machine import files
from harness.scan import disk, packed, raw
from harness.scan.disk import Needles, scan
from tests.support.canaries import KEY, NEEDLES, PIN, look, make_folder


def escaped(char: str) -> str:
    r"""As JSON, \u in capitals."""
    plain, data = json.dumps(char)[1:-1], char.encode("utf-16-be", "surrogatepass")
    units = [data[at : at + 2].hex().upper() for at in range(0, len(data), 2)]
    return "".join(f"\\u{unit}" for unit in units) if plain.startswith("\\u") else plain


LONE = '\ud83d "ü" not text'
FORMS: dict[str, Callable[[bytes, str], bytes]] = {
    # (what stands before in the same value, the canary) -> as a program would store it
    "utf-8": lambda before, text: before + text.encode("utf-8", "surrogatepass"),
    "utf-16": lambda before, text: before + b"x\0" + text.encode("utf-16-le", "surrogatepass") + b"y\0",
    "utf-16 of the other order": lambda before, text: (
        before + b"\0x" + text.encode("utf-16-be", "surrogatepass") + b"\0y"
    ),
    "json": lambda before, text: json.dumps({"t": text + "."}).encode(),
    "json in capitals": lambda before, text: "".join(map(escaped, text)).encode(),
    "json in UTF-8": lambda before, text: json.dumps([text], ensure_ascii=False).encode("utf-8", "surrogatepass"),
    "base64": lambda before, text: base64.b64encode(before + text.encode("utf-8", "surrogatepass") + b"?"),
    "base64 for URLs": lambda before, text: base64.urlsafe_b64encode(
        before + text.encode("utf-8", "surrogatepass") + b"?"
    ),
    "hex": lambda before, text: binascii.hexlify(before + text.encode("utf-8", "surrogatepass")),
    "hex in capitals": lambda before, text: (before + text.encode("utf-8", "surrogatepass")).hex().upper().encode(),
}


def threes(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(len(text) - 2)]


PLAIN_FORMS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "upper": ("another case", lambda text: text.upper().encode()),
    "upper utf-16": ("another case", lambda text: b"x\0" + text.upper().encode("utf-16-le")),
    "upper hex": ("hex", lambda text: text.encode().hex().upper().encode()),
    "utf-32": ("utf-32", lambda text: text.encode("utf-32-le")),
    "utf-32 of the other order": ("utf-32", lambda text: text.encode("utf-32-be")),
    "reversed": ("reversed", lambda text: text[::-1].encode()),
    "reversed utf-16": ("reversed", lambda text: b"\0" + text[::-1].encode("utf-16-be") + b"\0"),
    "trigrams": ("trigrams", lambda text: " ".join(threes(text)).encode()),
    "trigrams in JSON": ("trigrams", lambda text: json.dumps(threes(text)).encode()),
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(how=st.sampled_from(sorted(PLAIN_FORMS)), before=st.binary(max_size=90), piece=st.integers(40, 300))
def test_other_forms_are_found_wherever_they_stand(root: Path, how: str, before: bytes, piece: int) -> None:
    form, make = PLAIN_FORMS[how]
    (root / "data.bin").write_bytes(before + make(PIN) + before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        assert {(each.fact, each.form) for each in look(root).sightings} == {("pin", form)}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(max_size=40), min_size=1, max_size=6), piece=st.integers(1, 80))
def test_a_canary_is_found_wherever_it_stands(root: Path, parts: list[bytes], piece: int) -> None:
    """Also across the borders of the pieces that are read, and never twice."""
    parts = [part.replace(b"cw", b"") for part in parts]
    data = PIN.encode().join(parts)
    assume(not any(data.startswith(begin) and data.endswith(end) for _, begin, end in disk._OPAQUE))
    assume(not any(magic in data for magic, *_ in packed._MAGICS))
    (root / "data.bin").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        found = look(root, "data.bin")
    wanted = [Sighting(fact="pin", path="data.bin", form="utf-8", count=len(parts) - 1, offset=len(parts[0]))]
    assert found.sightings == (wanted if len(parts) > 1 else [])
    assert (found.files, found.bytes, found.problem) == (1, len(data), None)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    form=st.sampled_from(sorted(FORMS)),
    text=st.sampled_from((PIN, LONE)) | st.text(min_size=8, max_size=30),
    before=st.binary(max_size=7),
    odd=st.binary(max_size=3),
)
def test_a_canary_is_found_in_every_form(form: str, text: str, before: bytes, odd: bytes) -> None:
    stored = odd + FORMS[form](before, text) + odd
    found = {match.form for match in Needles({"x": text}).find(stored)}
    assert found, (form, text)
    if text == PIN:
        assert found == {{"json": "utf-8"}.get(form.split()[0], form.split()[0])}


def test_what_is_not_there_is_not_seen() -> None:
    for make in FORMS.values():
        assert not list(NEEDLES.find(make(b"ab", PIN[:-1] + "z")))
        assert not list(NEEDLES.find(make(b"ab", PIN)[:-8]))


def test_what_two_names_share_is_seen_for_both(root: Path) -> None:
    needles = Needles({"one": PIN, "two": PIN, "part": PIN[4:]})
    assert sorted((match.fact, match.start) for match in needles.find(b"--" + PIN.encode())) == [
        ("one", 2),
        ("part", 6),
        ("two", 2),
    ]
    with pytest.raises(ValueError, match="none is empty"):
        Needles({"none": ""})


def test_a_folder_is_looked_through_to_the_bottom(root: Path) -> None:
    for name in ("a.txt", "deep/er/b.bin", "deep/.hidden"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"x{KEY}")
    (root / "empty").touch()
    found = look(root)
    assert sorted(each.path for each in found.sightings) == ["a.txt", "deep/.hidden", "deep/er/b.bin"]
    assert (found.files, found.problem) == (4, None)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Layer("far", "anywhere", "remote"), "remote"),
        (Layer("up", "../outside", "file"), "outside"),
        (Layer("up", "../../../../../..", "file"), "outside"),
        (Layer("top", "/etc", "file"), "outside"),
        (Layer("own", "{root}", "file"), "outside"),
        (Layer("null", "a\x00b", "file"), "cannot be read"),
        (Layer("long", "x" * 5000, "file"), "cannot be read"),
        (Layer("gone", "nowhere", "file"), "holds no file"),
        (Layer("link", "link", "file"), "outside"),
        (Layer("fifo", "fifo", "file"), "not a regular file"),
        (Layer("loop", "loop", "file"), ""),
    ],
)
def test_what_cannot_be_looked_at_is_never_a_pass(root: Path, layer: Layer, words: str) -> None:
    (root.parent / "outside").write_text(PIN)
    (root / "link").symlink_to(root.parent / "outside")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    found = scan(root, Layer(layer.name, layer.path.format(root=root), layer.format), NEEDLES)
    assert found.problem is not None and words in found.problem
    assert found.sightings == [] and found.files == 0
    assert len(found.problem.splitlines()) == 1 and len(found.problem) < 5100


def test_links_are_not_followed_and_the_rest_is_still_looked_at(root: Path) -> None:
    (root.parent / "outside").write_text(PIN)
    (root / "link").symlink_to(root.parent / "outside")
    (root / "real").write_text(KEY)
    found = look(root)
    assert [each.fact for each in found.sightings] == ["key"]
    assert found.problem == "link is not a regular file and was not followed"


def test_a_link_to_what_is_looked_at_anyway_is_no_problem(root: Path) -> None:
    (root / "deep").mkdir()
    (root / "deep/real").write_text(KEY)
    (root / "latest").symlink_to("deep/real")
    (root / "also").symlink_to(root / "deep")
    found = look(root)
    assert ([each.path for each in found.sightings], found.files, found.problem) == (["deep/real"], 1, None)
    assert "was not followed" in (look(root, "latest").problem or "")
    (root / "deep/up").symlink_to("..")  # the layer's own folder, again and again
    (root / "other").symlink_to("nowhere")
    assert (look(root).files, len(look(root).problems)) == (1, 2)


def test_pipes_and_sockets_are_named_and_do_not_stop_the_look(root: Path) -> None:
    os.mkfifo(root / "a-pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "b-socket"))
    (root / "real").write_text(KEY)
    found = look(root)
    assert [each.fact for each in found.sightings] == ["key"]
    assert "a-pipe is not" in (found.problem or "") and "b-socket is not" in (found.problem or "")
    with pytest.raises(OSError, match="not a regular file"), files.open_regular(root / "a-pipe"):  # took a file's place
        pass


@pytest.mark.parametrize("broken", ["folder", "file"])
def test_what_cannot_be_read_is_named_and_does_not_stop_the_look(
    root: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (root / "deep").mkdir()
    (root / "deep/file").write_text(PIN)
    (root / "real").write_text(KEY)
    name, real = (
        {"folder": "listdir", "file": "open"}[broken],
        getattr(os, {"folder": "listdir", "file": "open"}[broken]),
    )

    def refusing(path: Path, *more: int) -> object:
        if Path(path) == root / {"folder": "deep", "file": "deep/file"}[broken]:
            raise PermissionError(13, "Permission denied")
        return real(path, *more)

    monkeypatch.setattr(os, name, refusing)
    found = look(root)
    assert ([each.fact for each in found.sightings], found.files) == (["key"], 1)
    assert "cannot be read: Permission denied" in (found.problem or "")


def test_names_that_are_no_text_can_be_written_to_a_log(root: Path) -> None:
    Path(os.fsdecode(bytes(root) + b"/\xff\xfe")).write_text(KEY)
    os.mkfifo(os.fsdecode(bytes(root) + b"/pipe\xff"))
    found = look(root)
    assert [each.model_dump(mode="json")["path"] for each in found.sightings] == [r"\xff\xfe"]
    (found.problem or "").encode()


def test_many_problems_are_one_line(root: Path) -> None:
    for at in range(9):
        os.mkfifo(root / f"pipe\n{at}")
    problem = look(root).problem or ""
    assert problem.endswith("and 4 more") and len(problem.splitlines()) == 1


def test_a_file_that_vanishes_meanwhile_was_not_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is still at work when its bytes are looked at before the deletion."""
    (root / "a-journal").write_text(PIN)
    (root / "store").write_text(KEY)
    real = os.open

    def vanishing(path: Path, flags: int) -> int:
        (root / "a-journal").unlink(missing_ok=True)
        return real(path, flags)

    monkeypatch.setattr(os, "open", vanishing)
    found = look(root)
    assert ([each.fact for each in found.sightings], found.files, found.problem) == (["key"], 1, None)


def test_a_file_that_gets_shorter_meanwhile_is_read_as_far_as_it_goes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "log").write_bytes(PIN.encode() + bytes(5000) + KEY.encode())
    monkeypatch.setattr(raw, "PIECE", 1000)
    real = os.pread

    def shortening(file: int, size: int, at: int) -> bytes:
        os.truncate(root / "log", 2000)
        return real(file, size, at)

    monkeypatch.setattr(os, "pread", shortening)
    found = look(root)
    assert ([each.fact for each in found.sightings], found.problem) == (["pin"], None)

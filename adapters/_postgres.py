"""PostgreSQL 16.2 with pgvector, which `make letta` installs beside Letta's server: where rows keep memories."""

from __future__ import annotations

import os
import subprocess
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.adapter import Layer, Program, Server, Space

TOP = Path(os.environ.get("COLDWARM_SERVERS") or Path(__file__).resolve().parent.parent / ".cache") / "letta" / "venv"
"""Where `make letta` installs it: a child is told, as it knows nothing of the checkout."""
INSTALL = "make letta"
PORT_LINE = 3
"""Of PostgreSQL's `postmaster.pid`, counted from 0."""
STARTING, START_SECONDS = "the database system is starting up", 30.0
FOLDER = "postgres"
DATABASE = "postgres"
"""The one that every new PostgreSQL has."""


def find_programs() -> Path:
    """PostgreSQL's programs; the folder in which they would be if there are none."""
    return next(TOP.glob("lib/python*/site-packages/pgserver/pginstall/bin"), TOP)


def place(port: str) -> tuple[str, ...]:
    """How its programs find the server."""
    return ("-h", "127.0.0.1", "-p", port, "-U", "postgres")


def program(database: str = DATABASE) -> Program:
    programs, folder = find_programs(), f"{{store}}/{FOLDER}"
    # SIGINT is PostgreSQL's fast shutdown: at SIGTERM it waits until every client has left
    return Program(
        name="postgres",
        setup=((str(programs / "initdb"), "-D", folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"),),
        argv=(str(programs / "postgres"), "-D", folder, "-h", "127.0.0.1", "-p", "{postgres}",
              "-c", "unix_socket_directories="),
        env={"TZ": "UTC"},
        data=FOLDER,
        flush=(str(programs / "psql"), *place("{postgres}"), "-d", database, "-c", "CHECKPOINT"),
        stop="SIGINT",
        unprivileged=True,
    )  # fmt: skip


def server() -> Server:
    """Nothing but PostgreSQL. It asks no model: vectors come with each call."""
    url = f"postgresql://postgres@127.0.0.1:{{postgres}}/{DATABASE}"
    return Server((program(),), url, "COLDWARM_POSTGRES_URL", "coldwarm-postgres", INSTALL)


def claim(psycopg: Any, space: Space) -> str:
    """The URL of a schema of this store's own: a server that the environment names may hold other stores, too."""
    if space.service is None:
        raise RuntimeError(f"it needs PostgreSQL: {INSTALL} installs it, COLDWARM_POSTGRES_URL names a running one")
    # a name in PostgreSQL has 63 bytes, and a path may have more
    schema = f"store_{sha256(space.root.encode()).hexdigest()[:16]}"
    with _connect(psycopg, space.service) as link:
        link.execute("SELECT pg_advisory_lock(1)")  # IF NOT EXISTS fails for one of two at once
        link.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        link.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    # public as well: the type `vector` lies there
    return f"{space.service}?options=-csearch_path%3D{schema}%2Cpublic"


def _connect(psycopg: Any, url: str) -> Any:
    """Its port answers before it serves: it says so."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError as error:
            if STARTING not in str(error) or time.monotonic() > until:
                raise
        time.sleep(0.05)


def storage(space: Space) -> list[Layer]:
    """The database is within reach if the server was started for this space."""
    ours = space.service is None or Path(space.root, FOLDER).exists()
    return [Layer("database", FOLDER, "postgres") if ours else Layer("server", "server", "remote")]


def find_port(space: Space) -> str:
    """RuntimeError: the database is not within reach."""
    try:
        return Path(space.root, FOLDER, "postmaster.pid").read_text().splitlines()[PORT_LINE]
    except OSError:
        raise RuntimeError("only the database of a server that the run has started can be compacted") from None


def compact(space: Space, database: str = DATABASE) -> None:
    """RuntimeError: the database is not within reach, or refuses."""
    command = [str(find_programs() / "vacuumdb"), *place(find_port(space)), "--full", "--quiet", database]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split()))

"""Environments of backends: NAME@VERSION runs with that release of its package, in an environment that uv makes for it.

What the adapter declares in `packages`, its first one at the release that was asked for, is resolved to a lock with
hashes. If that is a Node package (`npm:NAME`), npm resolves it, and installs it beside an interpreter and nothing else.
Lock and Python name the environment: a folder in the cache, shared by all runs, made beside its place and renamed when
it is whole. A resolution is kept as long as its environment is, so that nothing is asked of an index then.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from filelock import FileLock
from packaging.requirements import Requirement
from pydantic import ValidationError

from harness import paths
from harness.backend import client, registry, releases
from harness.backend.client import MemoryFault
from harness.backend.python import Interpreter, find
from harness.backend.registry import RegistryError
from harness.backend.releases import PLAIN
from harness.machine import files, leftovers, npm, uv
from harness.machine.installers import Refused
from harness.model.backend import Fault
from harness.model.trial import Model, Spec

FILE, LOCK, IN_USE = "environment.json", "packages.lock", "in-use"
SIDE_BY_SIDE = threading.Semaphore(2)
"""Environments that are made at the same time: uv itself downloads and links in parallel."""
_VERSION = re.compile(r"\d+(\.\d+){0,2}")


class EnvironmentFault(MemoryFault):
    """A backend that cannot be played for want of its environment: one line."""

    def __init__(self, message: str) -> None:
        super().__init__(Fault(kind="crashed", op="environment", message=message), alive=False)
        self.args = (message,)


class Made(Model):
    """What is written down beside an environment.

    Attributes:
        names: The backends that used it, as mem0@2.0.4+store=faiss.
        requirements: What was resolved.
        python: The version of its interpreter.
        packages: What is installed, as name==version.
        size: Bytes of all files; those hard-linked to uv's cache take no room of their own.
        seconds: How long resolving and installing took.
        entries: Where its packages lie, each of which is there as long as it is whole.
    """

    names: tuple[str, ...]
    requirements: tuple[str, ...]
    python: str
    packages: tuple[str, ...]
    size: int
    seconds: float
    entries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Environment:
    """An environment that is whole.

    Attributes:
        fresh: It was made by this process.
    """

    folder: Path
    made: Made
    fresh: bool = False

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def lock(self) -> str:
        return (self.folder / LOCK).read_text(encoding="utf-8")

    @property
    def digest(self) -> str:
        """The digest of a lock: equal wherever the same files are installed."""
        return hashlib.sha256(self.lock.encode()).hexdigest()

    @property
    def used(self) -> float:
        """When it was used last, in seconds of the epoch."""
        return (self.folder / IN_USE).stat().st_mtime

    def describe(self, name: str) -> str:
        """One line."""
        description = f"{name}: environment of {len(self.made.packages)} packages, {self.made.size / 1e6:,.0f} MB"
        how = f"made in {self.made.seconds:.1f} s" if self.fresh else "there from an earlier run"
        return f"{description}, Python {self.made.python}, {how}"


_STARTED: dict[tuple[str, ...], Future[Environment]] = {}
_LOCK = threading.Lock()


def begin(spec: Spec) -> Future[Environment]:
    """Starts to make the environment of a spec with a release of its own, if this process has not done so before.

    The future raises EnvironmentFault, MemoryFault for an adapter that cannot be asked, and RegistryError for what is
    wrong with the words of the spec; each is one line.
    """
    key = (spec.adapter, spec.release, repr(sorted(spec.settings.items())), spec.python or "", spec.lock)
    with _LOCK:
        if key in _STARTED:
            return _STARTED[key]
        found = _STARTED[key] = Future[Environment]()
        leftovers.process_folder()  # made once, by nobody beside us

    def work() -> None:
        try:
            with SIDE_BY_SIDE:
                found.set_result(_find_environment(spec))
        # whoever waits for the future would wait for ever otherwise
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=work, daemon=True).start()  # a run that ends early waits for none
    return found


def get_environment(spec: Spec) -> Environment:
    """The environment of a spec with a release of its own, made if need be. Raises as the future of `begin` does."""
    return begin(spec).result()


def add_lock(spec: Spec) -> Spec:
    """A spec with the lock of its environment, if it has one: wherever it is sent, the same is installed."""
    return spec.model_copy(update={"lock": get_environment(spec).lock}) if spec.pinned else spec


def split(release: str) -> tuple[str, str | None]:
    """Both parts of a label's release: that of the package, and the Python that was asked for with it."""
    package, _, python = release.partition("-py")
    return package, python or None


def is_version(python: str) -> bool:
    """Whether a text is the version of a Python, not where one is."""
    return bool(_VERSION.fullmatch(python))


def _find_environment(spec: Spec) -> Environment:
    base = _find_base(spec)
    packages = _list_packages(spec)
    return provide_release(_name(spec), packages[0], _list_requirements(spec, packages, base), base, spec.lock)


def provide_release(name: str, package: str, needed: tuple[str, ...], base: Interpreter, lock: str = "") -> Environment:
    """As `provide`; where there is no such release of the first, the fault names some that `package` allows."""
    try:
        return provide(name, needed, base, lock)
    except EnvironmentFault as fault:
        if not releases.is_unknown(needed[0], str(fault)):
            raise
        raise EnvironmentFault(f"{str(fault).rstrip('.')}; {releases.offer(package, base.path)}") from None


def provide(name: str, needed: tuple[str, ...], base: Interpreter, lock: str = "") -> Environment:
    """The environment with these requirements, made if need be. Raises EnvironmentFault, which says who needs it.

    Args:
        lock: What they were resolved to before.
    """
    began = time.monotonic()
    with suppress(FileNotFoundError):  # somebody removes it just now
        if not lock and (kept := _find_kept(needed, base.version)):
            return _use(kept, name)
    lock = lock or _resolve(name, needed, base)
    folder = find_root() / hashlib.sha256(f"{base.version}\n{lock}".encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _claim(folder):
        if found := _read(folder):
            return _use(found, name)
        for left in folder.parent.glob(f"{folder.name}.part-*"):  # by somebody who was killed: the claim is ours
            leftovers.remove(left)
        leftovers.remove(folder)
        draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
        # mkdtemp makes a folder for its owner alone
        draft.chmod(0o755)
        try:
            packages = _install(name, lock, draft, base)
            made = Made(
                names=(name,), requirements=needed, python=base.version, packages=packages,
                size=files.measure_size(draft), seconds=time.monotonic() - began, entries=_list_entries(draft),
            )  # fmt: skip
            _write(draft, made)
            (draft / IN_USE).touch()
            draft.rename(folder)
        finally:
            leftovers.remove(draft)
        return _use(Environment(folder, made, fresh=True), name)


def _use(found: Environment, name: str) -> Environment:
    """Nobody removes it as long as this process lives."""
    # never closed: the lock has to last as long as the process
    held = os.open(found.folder / IN_USE, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    os.utime(held)
    (found.folder / FILE).stat()  # it may have been removed meanwhile
    if name in found.made.names:
        return found
    made = found.made.model_copy(update={"names": tuple(sorted({*found.made.names, name}))})
    _write(found.folder, made)
    return Environment(found.folder, made, found.fresh)


def _find_base(spec: Spec) -> Interpreter:
    """The interpreter that the environment is made of: ours, one at a path, or a version that uv finds."""
    if not spec.python or not is_version(spec.python):
        return find(spec.python or sys.executable)
    try:
        found = uv.ask("python", "find", "--no-python-downloads", "--no-project", spec.python)
    except Refused:
        install = f"uv python install {spec.python}"
        _fail(_name(spec), f"Python {spec.python} is not installed here: {install}, or name another with python=PATH")
    return find(found.strip())


def _list_requirements(spec: Spec, packages: Sequence[str], base: Interpreter) -> tuple[str, ...]:
    """What the adapter declares, its own package at the release that was asked for."""
    first, *rest = packages
    release, _ = split(spec.release)
    if first.startswith(npm.PREFIX):
        name, allowed = npm.read_requirement(first)
        # a pre-release that is named is meant
        if not allowed.contains(release, prereleases=True):
            _fail(_name(spec), f"its adapter needs {first}; {releases.offer(first, base.path)}")
        return (f"{npm.PREFIX}{name}=={release}", *rest)
    own, *others = map(Requirement, (first, *rest))
    if not own.specifier.contains(release, prereleases=True):
        _fail(_name(spec), f"its adapter needs {own}; {releases.offer(first, base.path)}")
    inside = f"[{','.join(sorted(own.extras))}]" if own.extras else ""
    return (f"{own.name}{inside}=={release}", *map(str, others))


def _list_packages(spec: Spec) -> list[str]:
    """The packages of the adapter, with these settings, at least one."""
    entry = registry.find(spec)
    if entry.reference is None:
        raise RegistryError(f"backend '{_name(spec)}': a control without an adapter has no releases")
    with leftovers.make_temporary() as home:
        declared = client.declare(entry.reference, home / "home", settings=spec.settings)
    if declared.problem:
        raise RegistryError(f"backend '{_name(spec)}': {declared.problem}")
    if not declared.packages:
        raise RegistryError(f"backend '{_name(spec)}': its adapter declares no packages, so it has no releases")
    return [each.requirement for each in declared.packages]


def _resolve(name: str, needed: Sequence[str], base: Interpreter) -> str:
    """The lock. It names no index: whoever installs from it says where from."""
    node = needed[0].startswith(npm.PREFIX)
    try:
        if node:
            return npm.resolve(needed)
        return uv.ask("pip", "compile", "--generate-hashes", *PLAIN, "--python", base.path, "-", told="\n".join(needed))
    except Refused as error:
        _fail(name, str(error) if node else f"Python {base.version}: {error}")


def _install(name: str, lock: str, draft: Path, base: Interpreter) -> tuple[str, ...]:
    """Fills the folder, and says what is in it then."""
    (draft / LOCK).write_text(lock, encoding="utf-8")
    python = str(draft / "bin" / "python")
    try:
        # relocatable, as the folder gets its name once it is whole
        uv.ask("venv", "--allow-existing", "--relocatable", "--no-project", "--python", base.path, str(draft))
        if npm.is_lock(lock):
            return npm.install(lock, draft)
        # Compiled, as a backend's process may write nothing there.
        uv.ask("pip", "sync", "--require-hashes", "--compile-bytecode", "--python", python, str(draft / LOCK))
        return tuple(uv.ask("pip", "freeze", "--python", python).split())
    except Refused as error:
        _fail(name, str(error))


def _fail(name: str, why: str) -> NoReturn:
    raise EnvironmentFault(f"no environment can be made for {name}: {why}")


def _name(spec: Spec) -> str:
    """The folder's name, settings included: which server or store it is decides what is installed."""
    return spec.label


# --- the cache ----------------------------------------------------------------------------------------------------


def find_root() -> Path:
    return paths.cache_root() / "environments"


def list_made() -> list[Environment]:
    """All that are whole, the one that was used last at the end."""
    made = list[tuple[float, Environment]]()
    for folder in find_root().glob("*"):
        with suppress(FileNotFoundError):  # somebody removes it just now
            if found := _read(folder):
                made.append((found.used, found))
    return [each for _, each in sorted(made, key=lambda one: one[0])]


def remove(found: Environment) -> bool:
    """False: a run uses it."""
    with _claim(found.folder), (found.folder / IN_USE).open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        leftovers.remove(found.folder)
    return True


def sweep() -> None:
    """Removes what somebody who was killed has left half made."""
    for part in find_root().glob("*.part-*"):
        folder = part.with_name(part.name.partition(".")[0])
        with suppress(TimeoutError), _claim(folder, seconds=0):
            leftovers.remove(part)


def _claim(folder: Path, seconds: float = -1) -> FileLock:
    """One process at a time makes or removes an environment; the others wait for it."""
    return FileLock(folder.with_suffix(".lock"), timeout=seconds)


def _find_kept(needed: Sequence[str], python: str) -> Environment | None:
    """The newest resolution of the same requirements."""
    alike = (each for each in list_made() if (each.made.requirements, each.made.python) == (tuple(needed), python))
    return max(alike, key=lambda each: (each.folder / LOCK).stat().st_mtime, default=None)


def _read(folder: Path) -> Environment | None:
    """None: there is none, or its interpreter or a package has gone: it is made anew."""
    # locks and half-made parts lie beside the environments
    if folder.suffix or not (folder / "bin" / "python").exists():
        return None
    try:
        made = Made.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    return Environment(folder, made) if {*made.entries} <= {*_list_entries(folder)} else None


def _list_entries(folder: Path) -> tuple[str, ...]:
    places = ("lib/python*/site-packages/*", "node_modules/*")
    return tuple(sorted(each.relative_to(folder).as_posix() for place in places for each in folder.glob(place)))


def _write(folder: Path, made: Made) -> None:
    draft = folder / f"{FILE}.{os.getpid()}.{threading.get_ident()}"
    draft.write_text(made.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(folder / FILE)


def describe(specs: Iterable[Spec]) -> Iterator[str]:
    """A line of each environment that is there, of these."""
    for spec in specs:
        if spec.pinned and not (begun := begin(spec)).exception():
            yield begun.result().describe(_name(spec))


def list_releases(spec: Spec, above: str, below: str) -> list[str]:
    """The releases between two, neither included, the oldest first: what uv would take, so none that was withdrawn.

    Raises EnvironmentFault.
    """
    first, base = _list_packages(spec)[0], _find_base(spec)
    try:
        return list(releases.descend(first, base.path, above, below))[::-1]
    except Refused as error:
        _fail(_name(spec), str(error))

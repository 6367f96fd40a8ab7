"""Who plays: every backend that was asked for, as it describes itself, and those that cannot be played."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from harness.adapter import Server
from harness.backend import client, environments, interpreters, registry, servers
from harness.backend.client import Deadlines, MemoryFault
from harness.backend.environments import EnvironmentFault
from harness.backend.replies import Description
from harness.gateway.embedder import choose
from harness.machine import extras, leftovers
from harness.model.backend import SOUND, Backend, FaultKind
from harness.model.results import Unplayed
from harness.model.trial import SCRIPTED, Clock, Selection, Spec, digest
from harness.play import controls

DEADLINES = Deadlines()
TWO_WRITERS = "a model inside it decides what is kept, so that two would write: play it without --writer chat"
UNANSWERED = "a model inside it rewrites what it is told, and nobody answers it: --chat stand-in, model, or a folder"


@dataclass(frozen=True)
class Playable:
    """A backend that can be played: its entry, its spec with secrets, what it says of itself, its code's digest.

    Attributes:
        withheld: Its secrets, from the spec and from the environment.
        server: What it needs running, ours or one that runs already; rows with an equal one share it in turn.
        embeds: It cannot do without an embedder.
        older: The label of the row named before it that is another release of the same; its stores are taken over.
    """

    entry: registry.AdapterEntry
    spec: Spec
    backend: Backend
    source: str = "harness"
    withheld: tuple[str, ...] = ()
    server: Server | None = None
    embeds: bool = False
    older: str = ""
    hosted: bool = False
    """Somebody, somewhere, keeps its memories."""
    clock: Clock = "wall"
    """What its processes take for now; a trial says so of a story, and no drill plays by another."""

    @property
    def served(self) -> bool:
        return self.server is not None


@dataclass(frozen=True)
class Backends:
    """Who can be played, by label, and who was asked for but cannot."""

    playables: Mapping[str, Playable]
    unplayed: tuple[Unplayed, ...] = ()
    undescribed: Mapping[str, FaultKind] = field(default_factory=dict)
    """Those among them that could not even say what they are, and whose fault it is: most often something is not
    installed, or misspelt."""

    @property
    def apart(self) -> Collection[str]:
        """Those whose memories lie in a server, ours or another's, which has the wall clock."""
        return {label for label, playable in self.playables.items() if playable.served or playable.hosted}

    @property
    def taking_over(self) -> Mapping[str, str]:
        """Backends that take over stores of an older release: label -> that release's."""
        return {label: playable.older for label, playable in self.playables.items() if playable.older}


def describe_all(selection: Selection, allowed: Iterable[str] = (), deadlines: Deadlines = DEADLINES) -> Backends:
    """Asks every adapter what it is, each in a child of its own. The controls with gold always play.

    Raises RegistryError for a backend that nobody knows or a setting that its adapter does not read.
    """
    playables = {name: Playable(*_find_gold(name)) for name in registry.ORACLES}
    unplayed, undescribed = list[Unplayed](), dict[str, FaultKind]()
    asked = (*selection.backends, *((Spec(adapter=SOUND),) if selection.drills else ()))
    entries = {spec.label: (spec, registry.find(spec)) for spec in asked}
    # a label shows no secret, and a digest covers it
    if len(entries) < len({digest(spec) for spec in selection.backends}):
        raise registry.RegistryError(
            "two backends differ in a secret, or in where their release is from, only: no row could tell them apart"
        )
    embedded = choose().dims
    with leftovers.make_temporary() as home:
        for number, (spec, entry) in enumerate(entries.values()):
            # a control with gold, which is among the playables already
            if entry.reference is None:
                continue
            try:
                description = client.describe(
                    entry.reference,
                    home / str(number),
                    deadlines,
                    interpreters.make_launcher(spec),
                    spec.settings,
                )
            except MemoryFault as error:
                why = interpreters.explain_missing(spec, error)
                unplayed.append(Unplayed(backend=spec.label, reason=why, allowed=spec.label in allowed))
                # a release without its environment is left out; what cannot say what it is stops the run
                if not isinstance(error, EnvironmentFault):
                    undescribed[spec.label] = error.fault.kind
                continue
            # only now, as the adapter itself says which settings it reads
            registry.check_settings(spec, description.settings, description.problem)
            if selection.writer != SCRIPTED and description.support["extracts"].supported:
                raise registry.RegistryError(f"{spec.label}: {TWO_WRITERS}")
            if reason := _explain_unplayed(selection, description, embedded=bool(embedded)):
                unplayed.append(Unplayed(backend=spec.label, reason=reason, allowed=spec.label in allowed))
                continue
            backend = Backend(
                name=description.name,
                version=description.version,
                support=description.support,
                settings=interpreters.show(spec),
                control=entry.control,
                served=description.server is not None,
                clients=description.clients,
            )
            withheld = client.list_secrets(spec.settings, description.secrets)
            playables[spec.label] = Playable(
                entry,
                environments.add_lock(spec),
                backend,
                description.source,
                withheld,
                description.server,
                description.embeds,
                # what asks for a secret is somebody's service, and keeps its memories there
                hosted=bool(description.secrets),
            )
    return Backends(_chain_releases(playables), tuple(unplayed), undescribed)


def _explain_unplayed(selection: Selection, said: Description, *, embedded: bool) -> str | None:
    """Why a backend that says this of itself is not played; None if it is."""
    if said.unfit:
        return said.unfit
    if said.embeds and not embedded:
        return f"it needs vectors, and no embedder is installed: {extras.install('embed')}"
    if selection.feed == "native" and not (observe := said.support["observe"]).supported:
        return f"--feed native: it captures no session ({observe.note})"
    inside = said.support["extracts"].supported and not said.secrets  # a service has its own
    if selection.chat is None and inside:
        return UNANSWERED
    return servers.explain_missing(said.server) if said.server else None


def _chain_releases(playables: Mapping[str, Playable]) -> Mapping[str, Playable]:
    """Each with the release that was named before it. A server holds its stores itself, and is not handed over."""
    last: dict[str, str] = {}
    found = {}
    for label, playable in playables.items():
        # a row with other settings is no older release of this one: its stores may be laid out otherwise
        same = digest([playable.spec.adapter, dict(playable.spec.settings)])
        found[label] = playable if playable.served else replace(playable, older=last.get(same, ""))
        last[same] = label
    return found


def _find_gold(name: str) -> tuple[registry.AdapterEntry, Spec, Backend]:
    return registry.AdapterEntry(name, None, control=True), Spec(adapter=name), controls.describe(name)

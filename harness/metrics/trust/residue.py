"""Bytes in the drill `deletion`: which layers and places still show a deleted text or vector.

A target counts if a layer showed it before the deletion, or shows it now. It is gone if no layer shows it; a layer that
showed it and can no longer be read proves nothing. If all seems gone, but a layer cannot be read, or grew with the
writes and shows none of them, nothing is measured. Files outside of all layers count as a layer: the drill's whole
folder is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, get_args

from harness.log.parts import Sighting
from harness.log.transcript import Looked, Transcript
from harness.metrics import freed
from harness.metrics.freed import COMPONENTS, SQUEEZED, Held, Size
from harness.metrics.metric import cannot_tell, not_applicable, proportion
from harness.metrics.trust.reach import ROUTES, Reach, ReachRoute
from harness.model.cells import LayerLook, LayerRow, LookStage
from harness.model.trial import Measure

ResidueKind = Literal["text", "vector"]
ASKED: tuple[LookStage, ...] = ("before", "after", "reopened", "compacted")
SCANNED: tuple[LookStage, ...] = ("before", "closed", "killed", "churned", "compacted")
REMOVED = ("forget", "scope")
"""Roles whose texts nothing may keep."""


class Spot(NamedTuple):
    layer: str
    place: str
    kind: ResidueKind


def kind_of(sighting: Sighting) -> ResidueKind:
    # every form of a vector has "float" in its name: see `harness.text.encodings.VECTOR`
    return "vector" if "float" in sighting.form else "text"


class Residue:
    """One transcript's looks at the bytes, read once."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    @cached_property
    def looks(self) -> Mapping[tuple[str, str], list[tuple[int, Looked]]]:
        """(step, layer) -> the looks, with their lines: an adapter may give one name to several layers."""
        found: dict[tuple[str, str], list[tuple[int, Looked]]] = {}
        for line, look in self.transcript.looks():
            found.setdefault((look.step, look.layer.name), []).append((line, look))
        return found

    @cached_property
    def sighted(self) -> Mapping[str, Mapping[Spot, set[str]]]:
        """Step -> where -> what was seen there; of a revised memory, its first vector or the second."""
        revised = {piece.name: piece.twin for piece in self.transcript.plan.of("revision")}
        found: dict[str, dict[Spot, set[str]]] = {}
        for (step, layer), looks in self.looks.items():
            spots = found.setdefault(step, {})
            for each in (sighting for _, look in looks for sighting in self.transcript.sightings(look)):
                spots.setdefault(Spot(layer, each.place, kind_of(each)), set()).add(revised.get(each.fact) or each.fact)
        return found

    def layers(self) -> list[str]:
        """As they were declared, the first to be seen first, and last what nobody declared."""
        names = dict.fromkeys(layer for _, layer in self.looks)
        return sorted(names, key=lambda name: name in self.undeclared)

    @cached_property
    def undeclared(self) -> frozenset[str]:
        """Under which names undeclared places were looked at; none in an old transcript."""
        return frozenset(look.layer.name for _, look in self.transcript.looks() if not look.declared)

    def astray(self, names: Collection[str], where: Callable[[Sighting], bool]) -> tuple[set[str], list[str]]:
        """Which of these an undeclared place shows at any step, and the looks that show it."""
        seen: set[str] = set()
        lines: list[str] = []
        for line, look in self.transcript.looks():
            shown = () if look.declared else self.transcript.sightings(look)
            found = {each.fact for each in shown if where(each)} & set(names)
            lines += [f"L{line}"] if found - seen else []
            seen |= found
        return seen, lines

    def list_seen(self, step: str, layer: str, kind: ResidueKind) -> set[str]:
        spots = self.sighted.get(step, {})
        return {name for spot, names in spots.items() if (spot.layer, spot.kind) == (layer, kind) for name in names}

    def list_shown(self, step: str) -> set[str]:
        """What any place shows at a step."""
        return {name for names in self.sighted.get(step, {}).values() for name in names}

    def shows(self, step: str, name: str) -> str | None:
        """The look that shows it first."""
        spots = self.sighted.get(step, {})
        return next((self.line(step, spot.layer) for spot, names in spots.items() if name in names), None)

    def problem(self, step: str, layer: str) -> str | None:
        """Why a layer cannot be computed at a step."""
        looks = self.looks.get((step, layer))
        if looks is None:
            return f"{layer} was not declared then"
        return next((look.problem for _, look in looks if look.problem), None)

    def line(self, step: str, layer: str) -> str | None:
        """The look; of a layer that is not declared any more, the one before."""
        looks = self.looks.get((step, layer)) or self.looks.get(("before", layer))
        return f"L{looks[0][0]}" if looks else None

    def measure_gone(self, targets: Sequence[str], kind: ResidueKind, step: LookStage) -> Measure:
        if not targets:
            return not_applicable("nothing was deleted")
        counted: set[str] = set()
        left: set[str] = set()
        lines: list[str] = []
        for layer in self.layers():
            before, now = (self.list_seen(each, layer, kind) & set(targets) for each in ("before", step))
            counted |= before | now
            bad = now | (before if self.problem(step, layer) else set())
            left |= bad
            if bad:
                lines.append(self.line(step, layer) or "L1")
        blind = [*self.blind("before", step), *self._list_closed(kind), *self.list_kept(kind, step)]
        if blind and not left:
            none = "no target is left where it could be looked" if counted else f"no {kind} of a target was seen before"
            return cannot_tell(f"{none}, but {'; '.join(blind)}")
        if not counted:
            return not_applicable(self._unseen(kind))
        return proportion(len(counted - left), len(counted), lines, none="")

    def blind(self, *steps: str) -> list[str]:
        """Where it could not be looked at these steps, and why."""
        found = [
            f"{layer}: {look.problem}"
            for (step, layer), looks in self.looks.items()
            for _, look in looks
            if step in steps and look.problem
        ]
        return list(dict.fromkeys(found))

    def opaque(self, layer: str, kind: ResidueKind) -> str | None:
        """Why a layer that was read tells nothing: it took in bytes as if it held what was written, in files that show
        nothing of it. Of vectors, in files that show no vector: one of another text, or a projected one, is unlike all
        that are sought."""
        if all(step != "opened" for step, _ in self.looks):
            return None  # an old transcript: nobody knows how large it was
        # an old transcript counts all bytes of a layer as dark, those of what it shows among them
        old = all(look.dark is None for _, look in self.looks.get(("before", layer), ()))
        if old and any(self.list_seen("before", layer, each) for each in get_args(ResidueKind)):
            return None
        grown = self._count_dark("before", layer, kind) - self._count_dark("opened", layer, kind)
        if grown < self._needed[kind]:
            return None
        what = "nothing of what was written" if kind == "text" else "no vector of what was written"
        return f"it took in {grown:,} bytes with the writes, and {what} is recognised in them"

    # --- what a deletion gave back ---

    def list_kept(self, kind: ResidueKind, step: LookStage) -> list[str]:
        """Where what was deleted may still be, unrecognised. After more writes: where it was before these."""
        found = [f"{layer}: {why}" for layer in self.layers() if (why := self.explain_kept(layer, kind, step))]
        return list(dict.fromkeys(found))

    def explain_kept(self, layer: str, kind: ResidueKind, step: LookStage) -> str | None:
        """Why a layer that was read may still hold what was deleted by id."""
        looked: LookStage = step if step == "killed" else "closed"
        opened, then, now = (self._sizes(each, layer) for each in ("opened", "before", looked))
        if not self._weighed or step == "before" or not self._sizes(step, layer):
            return None  # an old transcript, or a layer that is not there any more
        reach = Reach.of(self.transcript)
        pieces, first = self.transcript.plan.by_name, list(reach.first_ids)
        by_id = [*reach.targets("forget"), *(reach.killed if step == "killed" else ())]
        gone, new = reach.targets(*REMOVED), len(reach.list_written("update", "deleted"))
        new += len(reach.list_written("supersede", "deleted"))
        if not by_id or not first:
            return None
        read = {spot for each in ("before", looked) for spot in self._read(each, layer)}
        # updates and successors are written among the deletions: their share of the growth is no residue
        later = {spot: (size - opened.get(spot, Size())).share(new / len(first)) for spot, size in then.items()}

        def would_do(names: Sequence[str]) -> Size:
            if kind == "vector":
                return freed.of_vectors(len(names))
            return freed.of_texts(pieces[name].item.text for name in names)

        why = [
            *freed.taken_in(then, now, read, would_do(by_id), len(by_id), later),
            *freed.not_given_back(opened, then, now, read, would_do(first), len(gone) / len(first)),
        ]
        return why[0] if why else None

    @cached_property
    def _weighed(self) -> bool:
        return any(look.weights is not None for _, look in self.transcript.looks("before"))

    def _sizes(self, step: str, layer: str) -> Held:
        looks = self.looks.get((step, layer), ())
        return freed.sizes(each for _, look in looks for each in self.transcript.weights(look))

    def _read(self, step: str, layer: str) -> set[freed.Spot]:
        looks = self.looks.get((step, layer), ())
        return freed.list_read(each for _, look in looks for each in self.transcript.sightings(look))

    def _list_closed(self, kind: ResidueKind) -> list[str]:
        return [f"{layer}: {why}" for layer in self.layers() if (why := self.opaque(layer, kind))]

    def _describe(self, layer: str, kind: ResidueKind) -> str:
        unseen = f"no {kind} of a target was seen in it before"
        return self.problem("before", layer) or self.opaque(layer, kind) or unseen

    def _count_dark(self, step: str, layer: str, kind: ResidueKind) -> int:
        return sum(_dark(look, kind) for _, look in self.looks.get((step, layer), ()))

    @cached_property
    def _needed(self) -> Mapping[ResidueKind, int]:
        """Bytes that would do to keep what was written before the deletions: texts compressed, vectors quantised."""
        items = [self.transcript.plan.by_name[name].item for name in Reach.of(self.transcript).first_ids]
        return {"text": sum(len(item.text) for item in items) // SQUEEZED, "vector": len(items) * COMPONENTS}

    def _unseen(self, kind: ResidueKind) -> str:
        problems = [
            f"{layer}: {self._describe(layer, kind)}"
            for layer in self.layers()
            if layer not in self.undeclared or self.problem("before", layer)
        ]
        return "; ".join(problems) or "the backend declares no layer"


def _dark(look: Looked, kind: ResidueKind) -> int:
    """In an old transcript all bytes of a layer, which it then shows nothing of."""
    known = look.dark if kind == "text" else look.vectorless
    return look.bytes if known is None else known


# few, as each holds what the looks of a whole transcript show
residue_of = lru_cache(maxsize=4)(Residue)


def matrix(transcript: Transcript) -> tuple[LayerRow, ...]:
    """Where what was forgotten by id or with its scope could be found, from the interface down to the bytes."""
    reach = Reach.of(transcript)
    targets = [name for name in reach.targets(*REMOVED) if transcript.plan.by_name[name].canary]
    if not targets:
        return ()
    return (*_routes(reach, targets), *_layers(residue_of(transcript), targets, reach.killed))


def _routes(reach: Reach, targets: Sequence[str]) -> Iterator[LayerRow]:
    for route in ROUTES:
        sought = [name for name in targets if reach.at("before", route, name)]
        known = [name for name in sought if reach.was_seen("before", route, name)]
        if sought:
            looks = tuple(
                _look_by_route(reach, step, route, known or sought) for step in ASKED if reach.was_reached(step)
            )
            yield LayerRow(layer=route, kind="route", targets=len(sought), looks=looks)


def _look_by_route(reach: Reach, step: LookStage, route: ReachRoute, names: Sequence[str]) -> LayerLook:
    """What one route brought at one step of the memories that it brought before; of all, if it brought none."""
    seen = [name for name in names if reach.was_seen(step, route, name)]
    unknown = [name for name in names if name not in seen and reach.find_left(step, route, name)]
    first = (seen or unknown or names)[0]
    return LayerLook(
        stage=step,
        verdict=_verdict(len(seen), bool(unknown), reach.was_seen("before", route, first)),
        seen=len(seen),
        reason=f"{len(unknown)} of {len(names)} calls failed or were not made" if unknown and step != "before" else "",
        receipt=reach.receipt(step, route, first),
    )


def _verdict(seen: int, unknown: bool, known: bool) -> Literal["gone", "present", "not-computable", "not-seen-before"]:
    return "present" if seen else "not-computable" if unknown and known else "gone" if known else "not-seen-before"


def _layers(residue: Residue, targets: Sequence[str], killed: Sequence[str]) -> Iterator[LayerRow]:
    """Every place where anything was ever seen; the whole layer where nothing was, if it was declared.

    The look after the kill is for what was forgotten right before it; it then had other names.
    """
    sought = {*targets, *killed}
    spots = {spot for found in residue.sighted.values() for spot, names in found.items() if names & sought}
    for layer in residue.layers():
        for kind in get_args(ResidueKind):
            places = sorted(spot for spot in spots if (spot.layer, spot.kind) == (layer, kind))
            for spot in places or ([] if layer in residue.undeclared else [Spot(layer, "", kind)]):
                steps = [step for step in SCANNED if step in residue.sighted]
                names = {step: set(killed if step == "killed" else targets) for step in steps}
                looks = tuple(_look_by_layer(residue, step, spot, names[step]) for step in steps)
                yield LayerRow(layer=layer, place=spot.place, kind=kind, targets=len(targets), looks=looks)


def _look_by_layer(residue: Residue, step: LookStage, spot: Spot, targets: set[str]) -> LayerLook:
    seen, before = (len(residue.sighted.get(each, {}).get(spot, set()) & targets) for each in (step, "before"))
    problem = residue.problem(step, spot.layer) or residue.opaque(spot.layer, spot.kind)
    problem = problem or residue.explain_kept(spot.layer, spot.kind, step)
    return LayerLook(
        stage=step,
        verdict="not-computable" if problem and not seen else _verdict(seen, False, bool(before)),
        seen=seen,
        reason=problem or (f"of the {len(targets)} forgotten right before a kill" if step == "killed" else ""),
        receipt=residue.line(step, spot.layer),
    )

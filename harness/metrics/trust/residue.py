"""What a transcript of the drill `deletion` shows of the bytes: layer by layer, place by place, text and vector.

A target counts if a layer showed it before the deletion, or shows it now. It is gone if no layer shows it; a layer
that showed it and cannot be looked at any more does not say so. Where all seems gone but a layer cannot be looked at,
nothing is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, get_args

from harness.events import Sighting
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.reach import ROUTES, Reach, Route, reach_of
from harness.model import Measure
from harness.results import LayerLook, LayerRow, LookStage
from harness.transcript import Looked, Transcript

Kind = Literal["text", "vector"]
ASKED: tuple[LookStage, ...] = ("before", "after", "reopened", "compacted")
SCANNED: tuple[LookStage, ...] = ("before", "closed", "churned", "compacted")
REMOVED = ("forget", "scope")
"""Roles whose texts nothing may keep."""


class Spot(NamedTuple):
    layer: str
    place: str
    kind: Kind


def kind_of(sighting: Sighting) -> Kind:
    return "vector" if "float" in sighting.form else "text"


class Residue:
    """One transcript's looks at the bytes, read once."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    @cached_property
    def looks(self) -> Mapping[tuple[str, str], tuple[int, Looked]]:
        """(step, layer) -> the look, with its line."""
        return {(look.step, look.layer.name): (line, look) for line, look in self.transcript.looks()}

    @cached_property
    def sighted(self) -> Mapping[str, Mapping[Spot, set[str]]]:
        """Step -> where -> what was seen there; of a revised memory, its first vector or the second."""
        revised = {piece.name: piece.twin for piece in self.transcript.plan.of("revision")}
        found: dict[str, dict[Spot, set[str]]] = {}
        for (step, layer), (_, look) in self.looks.items():
            spots = found.setdefault(step, {})
            for each in self.transcript.sightings(look):
                spots.setdefault(Spot(layer, each.place, kind_of(each)), set()).add(revised.get(each.fact) or each.fact)
        return found

    def layers(self) -> list[str]:
        """As they were declared, the first to be seen first."""
        return list(dict.fromkeys(layer for _, layer in self.looks))

    def seen(self, step: str, layer: str, kind: Kind) -> set[str]:
        spots = self.sighted.get(step, {})
        return {name for spot, names in spots.items() if (spot.layer, spot.kind) == (layer, kind) for name in names}

    def problem(self, step: str, layer: str) -> str | None:
        """Why a layer cannot be computed at a step."""
        look = self.looks.get((step, layer))
        return f"{layer} was not declared then" if look is None else look[1].problem

    def line(self, step: str, layer: str) -> str | None:
        """The look; of a layer that is not declared any more, the one before."""
        look = self.looks.get((step, layer)) or self.looks.get(("before", layer))
        return f"L{look[0]}" if look else None

    def gone(self, targets: Sequence[str], kind: Kind, step: LookStage) -> Measure:
        if not targets:
            return not_applicable("nothing was deleted")
        counted: set[str] = set()
        left: set[str] = set()
        lines: list[str] = []
        for layer in self.layers():
            before, now = (self.seen(each, layer, kind) & set(targets) for each in ("before", step))
            counted |= before | now
            bad = now | (before if self.problem(step, layer) else set())
            left |= bad
            if bad:
                lines.append(self.line(step, layer) or "L1")
        if not counted:
            return not_applicable(self._unseen(kind))
        if not left and (blind := self._blind("before", step)):
            return not_applicable(f"no target is left where it could be looked, but {'; '.join(blind)}")
        return proportion(len(counted - left), len(counted), lines, none="")

    def _blind(self, *steps: str) -> list[str]:
        found = [
            f"{layer}: {look.problem}"
            for (step, layer), (_, look) in self.looks.items()
            if step in steps and look.problem
        ]
        return list(dict.fromkeys(found))

    def _unseen(self, kind: Kind) -> str:
        problems = [
            f"{layer}: {self.problem('before', layer) or f'no {kind} of a target was seen in it before'}"
            for layer in self.layers()
        ]
        return "; ".join(problems) or "the backend declares no layer"


residue_of = lru_cache(maxsize=1)(Residue)


def matrix(transcript: Transcript) -> tuple[LayerRow, ...]:
    """Where what was forgotten by id or with its scope could be found, from the interface down to the bytes."""
    reach = reach_of(transcript)
    targets = [name for name in reach.targets(*REMOVED) if transcript.plan.by_name[name].canary]
    if not targets:
        return ()
    return (*_routes(reach, targets), *_layers(residue_of(transcript), targets))


def _routes(reach: Reach, targets: Sequence[str]) -> Iterator[LayerRow]:
    for route in ROUTES:
        sought = [name for name in targets if reach.at("before", route, name)]
        known = [name for name in sought if reach.seen("before", route, name)]
        if sought:
            looks = tuple(_called(reach, step, route, known or sought) for step in ASKED if reach.reached(step))
            yield LayerRow(layer=route, kind="route", targets=len(sought), looks=looks)


def _called(reach: Reach, step: LookStage, route: Route, names: Sequence[str]) -> LayerLook:
    """What one route brought at one step of the memories that it brought before; of all, if it brought none."""
    seen = [name for name in names if reach.seen(step, route, name)]
    unknown = [name for name in names if name not in seen and reach.left(step, route, name)]
    first = (seen or unknown or names)[0]
    return LayerLook(
        stage=step,
        verdict=_verdict(len(seen), bool(unknown), any(reach.seen("before", route, name) for name in names)),
        seen=len(seen),
        reason=f"{len(unknown)} of {len(names)} calls failed or were not made" if unknown and step != "before" else "",
        receipt=reach.receipt(step, route, first),
    )


def _verdict(seen: int, unknown: bool, known: bool) -> Literal["gone", "present", "not-computable", "not-seen-before"]:
    return "present" if seen else "not-computable" if unknown and known else "gone" if known else "not-seen-before"


def _layers(residue: Residue, targets: Sequence[str]) -> Iterator[LayerRow]:
    """Every place in every declared layer where anything was ever seen; the whole layer where nothing was."""
    spots = {spot for found in residue.sighted.values() for spot, names in found.items() if names & set(targets)}
    for layer in residue.layers():
        for kind in get_args(Kind):
            places = sorted(spot for spot in spots if (spot.layer, spot.kind) == (layer, kind))
            for spot in places or [Spot(layer, "", kind)]:
                steps = [step for step in SCANNED if step in residue.sighted]
                looks = tuple(_looked(residue, step, spot, set(targets)) for step in steps)
                yield LayerRow(layer=layer, place=spot.place, kind=kind, targets=len(targets), looks=looks)


def _looked(residue: Residue, step: LookStage, spot: Spot, targets: set[str]) -> LayerLook:
    seen, before = (len(residue.sighted.get(each, {}).get(spot, set()) & targets) for each in (step, "before"))
    problem = residue.problem(step, spot.layer)
    return LayerLook(
        stage=step,
        verdict="not-computable" if problem and not seen else _verdict(seen, False, bool(before)),
        seen=seen,
        reason=problem or "",
        receipt=residue.line(step, spot.layer),
    )

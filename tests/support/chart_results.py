"""The results of the charts in tests, and what is drawn of them."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from harness.log.folder import Folder
from harness.metrics import footprint
from harness.model.cells import LayerLook, LayerRow, TrustCell
from harness.model.results import Pooled, Results
from harness.model.trial import Interval
from harness.report.charts import Chart, draw_charts

SVG = "{http://www.w3.org/2000/svg}"


def full(plain: Results) -> Results:
    own = [each for each in plain.contrasts if each.primary]
    noisy = [each.model_copy(update={"noise": 7, "primary": False}) for each in own]
    curated = [
        each.model_copy(update={"write_policy": "curated", "measures": dict.fromkeys(each.measures, missed("failed"))})
        for each in plain.contrasts
        if each.noise == plain.run.conditions.headline_noise
    ]
    return changed(plain, contrasts=(*plain.contrasts, *noisy, *curated), trust=tuple(drills()))


def changed(results: Results, **fields: Any) -> Results:
    return results.model_copy(update=fields)


def missed(word: str) -> Pooled:
    return Pooled.model_validate({"value": None, word.replace("-", "_"): 1, "reasons": ("because",)})


def share(hits: int, of: int, scenarios: int = 12) -> Pooled:
    interval = Interval(low=max(0.0, hits / of - 0.1), high=min(1.0, hits / of + 0.1), method="any")
    return Pooled(value=hits / of, hits=hits, of=of, scenarios=scenarios, interval=interval)


def with_row(results: Results, name: str, **measures: Pooled) -> Results:
    """The run with other measures in one row."""
    row = results.backends[name]
    own = row.model_copy(update={"measures": {**row.measures, **measures}})
    return changed(results, backends={**results.backends, name: own})


def drills() -> list[TrustCell]:
    def row(kind: str, layer: str, *seen: int | None, place: str = "") -> LayerRow:
        stages = ("before", "after", "reopened") if kind == "route" else ("before", "closed", "churned", "compacted")
        looks = [
            LayerLook.model_validate(
                {
                    "stage": stage, "seen": n or 0,
                    "verdict": "not-computable" if n is None else "present" if n else "gone" if seen[0] else
                    "not-seen-before",
                }
            )
            for stage, n in zip(stages, seen, strict=False)
        ]  # fmt: skip
        return LayerRow.model_validate(
            {"layer": layer, "place": place, "kind": kind, "targets": 9, "looks": tuple(looks)}
        )

    def cell(name: str, *layers: LayerRow, status: str = "complete") -> TrustCell:
        return TrustCell.model_validate(
            {
                "id": f"{name}-d", "backend": name, "drill": "deletion", "size": 9, "seed": 1, "k": 5,
                "status": status, "transcript": "t", "transcript_sha256": "0", "measures": {}, "layers": layers,
            }
        )  # fmt: skip

    return [
        cell("keeper", row("route", "search", 9, 0, 0), row("route", "get", 9, 0, 0), row("text", "file", 0, 0, 0, 0)),
        cell(
            "store", row("route", "search", 9, 0, 0), row("route", "history", 9, 9, 9),
            row("text", "db", 9, 4, 4, 4, place="rows"), row("text", "db", 9, 5, 0, 3, place="free page"),
            row("vector", "index", 9, None, None, None),
        ),
        cell("dark", row("text", "cloud", 9, None, None, None)),
        cell("absent", status="unsupported"),
    ]  # fmt: skip


def draw(results: Results, folder: Folder) -> dict[str, Chart]:
    samples = [sample for log in folder.logs()[0].values() for sample in footprint.of_trial(log)]
    return {chart.name: chart for chart in draw_charts(results, samples)}


def texts(chart: Chart) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(chart.svg).iter(f"{SVG}text")]

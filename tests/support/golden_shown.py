"""How every measure is asked and shown: all of its definition but the formula, its flags, its words and their order.

`make golden` writes the table anew, after a change that was meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from harness import metrics
from harness.metrics import trust
from harness.metrics.metric import Metric
from harness.metrics.words import Topic, Words
from tests.support.golden_drills import GOLDEN

TABLE = GOLDEN / "shown.json"
LISTS: dict[str, Callable[[Words], int | None]] = {
    "between": lambda words: words.between.place if words.between else None,
    "case": lambda words: words.case.place if words.case else None,
    "contrasted": lambda words: words.contrasted,
    "decisive": lambda words: words.decisive,
    "progress": lambda words: words.progress.place if words.progress else None,
}


def table() -> dict[str, Any]:
    """Measure -> one line; list -> its measures in order."""
    every: list[Metric[Any]] = [*metrics.METRICS, *trust.METRICS]
    lists = {name: list(metrics.list_placed(place)) for name, place in LISTS.items()}
    topics = {each.topic.id: [each.topic.place, each.topic.first] for each in metrics.WORDS.values()}
    drills = {name: each.place for name, each in trust.DRILLS.items()}
    found = {each.definition.name: json.dumps(_tell(each), ensure_ascii=False) for each in every}
    more = {"ratios": {name: list(pair) for name, pair in metrics.RATIOS.items()}, "by chance": sorted(trust.BY_CHANCE)}
    return {"first": list(metrics.FIRST), "lists": lists, "topics": topics, **more, "drills": drills, "measures": found}


def _tell(measure: Metric[Any]) -> dict[str, Any]:
    definition = measure.definition.model_dump(
        mode="json", exclude={"name", "formula", "label", "otherwise", "aside", "varies"}
    )
    stands = {"aside": bool(measure.definition.aside), "varies": bool(measure.definition.varies)}
    return {**definition, **stands, **_list_set(measure, "definition", "measure")}


def _list_set(shown: Any, *but: str) -> dict[str, Any]:
    """What is set in a record, the words of the page left out."""
    told = {field.name: getattr(shown, field.name) for field in fields(shown) if field.name not in but}
    defaults = {field.name: field.default for field in fields(shown)}
    return {
        name: _plain(value) for name, value in told.items() if value != defaults[name] and not isinstance(value, str)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Topic):
        return value.id
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return _list_set(value) if is_dataclass(value) else value


def known() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return read


def write() -> int:
    TABLE.write_text(json.dumps(table(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0

"""What a data set of ours holds, as Croissant 1.0 says it (mlcommons.org/croissant), so that other tools load it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

TERMS = (
    "citeAs", "column", "conformsTo", "data", "dataType", "equivalentProperty", "examples", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator",
    "source", "subField", "transform",
)  # fmt: skip
"""Words of the vocabulary, each by its own name; the others are those of schema.org."""
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{term: f"cr:{term}" for term in TERMS},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
TYPES = {
    "dtype: string": "sc:Text", "dtype: int32": "sc:Integer", "dtype: float64": "sc:Float", "dtype: bool": "sc:Boolean",
    "dtype: timestamp[us, tz=UTC]": "sc:DateTime",
}  # fmt: skip
"""Types of columns, as the head of a dataset card names them -> Croissant's; what is not here is a list of texts."""


def describe(
    head: Mapping[str, str], files: Mapping[str, str], tables: Mapping[str, Mapping[str, tuple[str, str]]]
) -> str:
    """The JSON-LD of tables that lie beside it, each as JSON Lines.

    Args:
        head: Name, description, licence and version.
        files: File name -> its text.
        tables: Table -> column -> its type and what it says; the table `facts` lies in `facts.jsonl`.
    """
    return (
        json.dumps(
            {
                "@context": CONTEXT,
                "@type": "sc:Dataset",
                "conformsTo": "http://mlcommons.org/croissant/1.0",
                **head,
                "distribution": [_file(f"{name}.jsonl", files[f"{name}.jsonl"]) for name in tables],
                "recordSet": [_table(name, columns) for name, columns in tables.items()],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def _file(name: str, text: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{len(text.encode())} B",
        "encodingFormat": "application/jsonlines",
        "sha256": sha256(text.encode()).hexdigest(),
    }


def _table(name: str, columns: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": says,
            "dataType": TYPES.get(kind, "sc:Text"),
            **({} if kind in TYPES else {"repeated": True}),
            "source": {"fileObject": {"@id": f"{name}.jsonl"}, "extract": {"column": column}},
        }
        for column, (kind, says) in columns.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}

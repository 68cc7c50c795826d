"""Fields of foreign JSON, whatever type they turn out to have, and the OTLP/JSON request made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_stall.otlp import key_values
from otel_stall.otlp.json import KINDS

__all__ = [
    "Request",
    "entries",
    "kind_number",
    "mapping",
    "mappings",
    "request",
    "scope_fields",
    "status_code",
    "texts",
]

Request = dict[str, object]
"""A trace request in OTLP/JSON form."""

_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}


def mapping(value: object) -> Mapping[str, object]:
    """Return a JSON object, an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object) -> list[object]:
    """Return a JSON array, an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[Mapping[str, object]]:
    """Return the objects of a JSON array."""
    return [item for item in entries(value) if isinstance(item, Mapping)]


def texts(**fields: object) -> dict[str, object]:
    """Return those of the fields that hold text."""
    return {name: value for name, value in fields.items() if isinstance(value, str) and value}


def kind_number(value: object) -> int:
    """Return the OTLP number of a span kind's name, with or without its enumeration's; 0 where unknown."""
    if isinstance(value, int):
        return int(value) if 0 <= value < len(KINDS) else 0
    name = value.rpartition(".")[2].upper().removeprefix("SPAN_KIND_") if isinstance(value, str) else ""
    return KINDS.index(name) if name in KINDS else 0


def status_code(value: object) -> int:
    """Return the OTLP number of a status's name, with or without its enumeration's; 0 where unknown."""
    if isinstance(value, int):
        return int(value) if 0 <= value < len(_CODES) else 0
    name = value.rpartition(".")[2].upper().removeprefix("STATUS_CODE_") if isinstance(value, str) else ""
    return _CODES.get(name, 0)


def scope_fields(scope: object) -> dict[str, object]:
    """Return an OTLP/JSON scope, given as a name or as an object with name and version."""
    if isinstance(scope, str):
        return {"name": scope}
    fields = mapping(scope)
    return texts(name=fields.get("name"), version=fields.get("version"))


def request(
    spans: Iterable[Mapping[str, object]],
    *,
    resource: Mapping[str, object] | None = None,
    scope: object = None,
    schema_url: object = None,
) -> Request:
    """Return the request of spans in OTLP/JSON form that share resource attributes and scope."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": key_values(resource or {})},
                "scopeSpans": [{"scope": scope_fields(scope), "spans": list(spans)}],
                **texts(schemaUrl=schema_url),
            }
        ]
    }

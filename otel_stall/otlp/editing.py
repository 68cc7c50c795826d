"""Changes to protobuf messages in place: annotation of spans and log records, and messages made of values.

What is not touched stays as it came, with the fields that this version of the protocol does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from otel_stall.otlp.json import Addition
from otel_stall.otlp.protobuf import has_ids
from otel_stall.otlp.values import MAX_DEPTH

__all__ = [
    "any_value_message",
    "drop_invalid",
    "event_message",
    "key_value_messages",
    "set_attributes",
    "write_on_span",
]

_INT64 = 1 << 63


class _Pairs(Protocol):
    def extend(self, pairs: Iterable[KeyValue], /) -> None: ...
    def __delitem__(self, index: int, /) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> KeyValue: ...


def write_on_span(span: Span, addition: Addition) -> None:
    """Write attributes and events on one span; those of the names that are replaced are taken off first."""
    set_attributes(span.attributes, addition.attributes, addition.replaced)
    for index in reversed(range(len(span.events) if addition.replaced else 0)):
        if span.events[index].name in addition.replaced:
            del span.events[index]
    span.events.extend(event_message(one.name, one.time_ns, one.attributes) for one in addition.events)


def set_attributes(pairs: _Pairs, attributes: Mapping[str, object], replaced: frozenset[str] = frozenset()) -> None:
    """Write attributes in place of those with the same names, or with the names in `replaced`."""
    gone = replaced | attributes.keys()
    for index in reversed(range(len(pairs))):
        if pairs[index].key in gone:
            del pairs[index]
    pairs.extend(key_value_messages(attributes))


def drop_invalid(message: TracesData) -> int:
    """Take the spans without valid ids out of a request and return how many there were."""
    dropped = 0
    for group in message.resource_spans:
        for scoped in group.scope_spans:
            for index in reversed(range(len(scoped.spans))):
                if not has_ids(scoped.spans[index]):
                    del scoped.spans[index]
                    dropped += 1
    return dropped


def key_value_messages(attributes: Mapping[str, object]) -> list[KeyValue]:
    """Return the KeyValue messages of a mapping, in its order."""
    return [KeyValue(key=_text(key), value=any_value_message(value)) for key, value in attributes.items()]


def any_value_message(value: object, depth: int = 0) -> AnyValue:
    """Return the AnyValue of a Python value; what has no such form becomes its text, what lies too deep nothing."""
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value) if -_INT64 <= value < _INT64 else AnyValue(string_value=str(value))
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=_text(value))
        case bytes():
            return AnyValue(bytes_value=value)
        case Mapping() | Sequence() if depth > MAX_DEPTH:
            return AnyValue()
        case Mapping():
            pairs = [KeyValue(key=_text(str(k)), value=any_value_message(v, depth + 1)) for k, v in value.items()]
            return AnyValue(kvlist_value=KeyValueList(values=pairs))
        case Sequence():
            return AnyValue(array_value=ArrayValue(values=[any_value_message(item, depth + 1) for item in value]))
    return AnyValue(string_value=_text(str(value)))


def event_message(name: str, time_ns: int, attributes: Mapping[str, object]) -> Span.Event:
    """Return the message of one event of a span; the time is epoch ns."""
    return Span.Event(time_unix_nano=time_ns, name=name, attributes=key_value_messages(attributes))


def _text(value: str) -> str:
    """Return text that protobuf takes: a lone surrogate has no UTF-8."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()

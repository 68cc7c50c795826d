"""OTLP requests, traces and logs, in JSON and in protobuf, to span views and back."""

from otel_stall.otlp.json import Addition, Report, Signal, annotate_span, signal_of, spans, views
from otel_stall.otlp.logs import log_views
from otel_stall.otlp.values import any_value, attributes_from, hex_id, key_values, python_value

__all__ = [
    "Addition",
    "Report",
    "Signal",
    "annotate_span",
    "any_value",
    "attributes_from",
    "hex_id",
    "key_values",
    "log_views",
    "python_value",
    "signal_of",
    "spans",
    "views",
]

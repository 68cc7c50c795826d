"""Finds traces in Jaeger by their attributes, over gRPC: the HTTP form of its API v3 can't search by attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

__all__ = ["find_traces"]

_FIND: Final = "/jaeger.api_v3.QueryService/FindTraces"
_YEAR_2100: Final = 4_102_444_800
_DEPTH: Final = 100

# What FindTraces takes, in the numbers of jaeger/api_v3/query_service.proto; a map is a list of pairs on the wire.
_SCHEMA: Final = """
name: "find_traces.proto" syntax: "proto3"
message_type { name: "Pair"
  field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "value" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "Time"
  field { name: "seconds" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL } }
message_type { name: "Query"
  field { name: "service_name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "attributes" number: 3 type: TYPE_MESSAGE type_name: ".Pair" label: LABEL_REPEATED }
  field { name: "start_time_min" number: 4 type: TYPE_MESSAGE type_name: ".Time" label: LABEL_OPTIONAL }
  field { name: "start_time_max" number: 5 type: TYPE_MESSAGE type_name: ".Time" label: LABEL_OPTIONAL }
  field { name: "search_depth" number: 8 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "raw_traces" number: 9 type: TYPE_BOOL label: LABEL_OPTIONAL } }
message_type { name: "Request"
  field { name: "query" number: 1 type: TYPE_MESSAGE type_name: ".Query" label: LABEL_OPTIONAL } }
"""


def find_traces(
    address: str, service: str, attributes: Mapping[str, str], seconds: float = 10, *, since: int = 0
) -> list[TracesData]:
    """Return the traces in which one span of that service has all these attributes, as they are stored; at most 100.

    `address` is that of Jaeger's gRPC API; `since` leaves out what began before, in seconds since 1970. Raises
    grpc.RpcError where it does not answer within so many seconds.
    """
    query = {
        "service_name": service,
        "attributes": [{"key": key, "value": value} for key, value in attributes.items()],
        "start_time_min": {"seconds": since},
        "start_time_max": {"seconds": _YEAR_2100},
        "search_depth": _DEPTH,
        # Else Jaeger changes the traces it holds in memory, which ends it (2.13) where one is just being written.
        "raw_traces": True,
    }
    body = _request_type()(query=query).SerializeToString()
    with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        find = channel.unary_stream(_FIND, response_deserializer=TracesData.FromString)
        return list(find(body, timeout=seconds))


def _request_type() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(text_format.Parse(_SCHEMA, descriptor_pb2.FileDescriptorProto()))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Request"))

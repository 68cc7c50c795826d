"""docs/queries.md: each recipe for Jaeger gives what it promises and nothing else; TraceQL asks for what is written."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest
from chain import Ports, collector, eventually, export, jaeger, searched
from downstreams import process
from grafana_checks import read_traceql
from jaeger_api import find_traces
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from recipes import Recipe, dashboard_traceql, places, recipes
from stalled_runs import forgetful, repair, runs

from otel_stall.config import StallConfig
from otel_stall.otlp import views
from otel_stall.otlp.protobuf import to_json
from otel_stall.processor import StallSpanProcessor
from otel_stall.reasons import Reason
from otel_stall.spans import SpanView
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import EndReason, Evidence, Gain, Kind, Level

PROMISED: Final[Mapping[tuple[str, int], set[str]]] = {
    ("All runs that stalled", 0): {"lost", "short", "mended", "forgot", "own"},
    ("The longest stalls first", 0): {"lost", "mended", "forgot", "own"},
    ("Amnesia stalls of one agent that reached ask_user", 0): {"forgot"},
    ("Runs that call for a person now", 0): {"mended", "forgot", "own"},
    ("Runs that call for a person now", 1): {"lost"},
    ("What a run did before it stalled", 0): {"mended"},
    ("Steps that gained nothing because they read again what they had", 0): {
        "lost",
        "short",
        "mended",
        "forgot",
        "own",
    },
    ("Runs that should be given up", 0): {"lost"},
    ("Stalls that loop detectors did not see", 0): {"mended", "own"},
    ("Stalls that loop detectors did not see", 1): {"mended", "forgot", "own"},
    ("Milestones reached today", 0): {"today"},
    ("Milestones of one kind", 0): {"mended", "own"},
    ("Stalls that ended well", 0): {"mended", "own"},
    ("Work after a compaction", 0): {"mended", "forgot", "own"},
    ("Agents whose run stalled, by their own span", 0): {"own"},
}
"""Conversations that a recipe finds, by heading and place. `own` is judged in its process, the others by a gateway."""

TODAY: Final = "Milestones reached today"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Jaeger that holds the runs: all but `today` happened long ago, and `well` and `today` do not stall."""
    folder, ports = tmp_path_factory.mktemp("queries"), Ports()
    sent = [*runs().every(), forgetful("forgot"), repair("own", StallSpanProcessor(StallConfig())), _today()]
    with (
        jaeger(folder, ports) as address,
        collector("inline.yaml", folder, ports),
        process("--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]),
    ):
        for spans in sent:
            export(ports["OTLP_GRPC"], spans)
        every = {"lost", "short", "well", "mended", "forgot", "own", "today"}
        eventually(lambda: len(_read(searched(address, {}))) == sum(map(len, sent)))
        assert _conversations(_spans(address, {})) == every
        yield address


def _today() -> Sequence[Any]:
    """Return a run of now with a milestone that its host verified."""
    recorded = RecordedProvider(provider=TracerProvider(resource=Resource({"service.name": "agents"})))
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "deploy", "gen_ai.conversation.id": "today"}
    said |= {"stall.milestone.name": "staging is up", "stall.milestone.evidence": "observed"}
    with recorded.tracer.start_as_current_span("execute_tool deploy", attributes=said):
        pass
    return recorded.spans()


def _spans(api: str, attributes: Mapping[str, str], since: int = 0) -> list[SpanView]:
    return _read(find_traces(api, "agents", attributes, since=since))


def _read(found: Sequence[TracesData]) -> list[SpanView]:
    return [span for trace in found for span in views(to_json(trace), pytest.fail)]


def _conversations(spans: Sequence[SpanView]) -> set[object]:
    return {span.attributes["gen_ai.conversation.id"] for span in spans}


def _tags(query: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in query.split())


@pytest.mark.parametrize("recipe", recipes("jaeger"), ids=lambda one: f"{one.heading} {one.place}")
def test_a_recipe_for_jaeger_finds_what_it_promises(recipe: Recipe, api: str) -> None:
    """The conversations that have it, of all that Jaeger holds, and no other."""
    since = int(time.time()) - 24 * 3_600 if recipe.heading == TODAY else 0
    found = _spans(api, _tags(recipe.query), since)
    assert _conversations(found) == PROMISED[recipe.heading, recipe.place]
    assert PROMISED[recipe.heading, recipe.place] < _conversations(_spans(api, {}))


def test_every_promise_is_of_a_recipe() -> None:
    """No recipe for Jaeger is without a promise, and none is left of a recipe that is gone."""
    assert {(one.heading, one.place) for one in recipes("jaeger")} == set(PROMISED)


def test_what_came_before_a_stall_is_told_by_its_first_step(api: str) -> None:
    """Of the conversation's trace, the stalled steps name the first; the page's number is that of this run."""
    spans = _spans(api, {"gen_ai.conversation.id": "mended", "stall.detected": "true"})
    first = min(int(str(span.attributes["stall.first_step"])) for span in spans if span.attributes.get("stall.kind"))
    before = [span for span in spans if int(str(span.attributes.get("stall.step", 99))) < first]
    assert len(before) == first - 1
    (query,) = [one.query for one in recipes("traceql") if one.heading == "What a run did before it stalled"]
    assert f"span.stall.step < {first} " in query


def test_jaeger_is_asked_for_equality_alone(api: str) -> None:
    """No part of a value, no name of an event, not the tags on different spans: what the page says of its limits."""
    for tags in (
        {"stall.level": "ask"},
        {"stall.level": "ask_user|abandon"},
        {"stall.step": ">=3"},
        {"event": "stall.started"},
        {"stall.kind": "amnesia", "stall.end.reason": "gain", "stall.gain.type": "none"},
        {"stall.kind": "loop", "stall.gain.type": "milestone"},
    ):
        assert not _spans(api, tags), tags
    evidence = next(
        span.attributes["stall.evidence"] for span in _spans(api, {}) if "stall.evidence" in span.attributes
    )
    assert isinstance(evidence, (list, tuple))
    assert not _spans(api, {"stall.evidence": str(evidence[0])})


def _written(spans: Sequence[SpanView]) -> dict[tuple[str, str], set[str]]:
    """Return which type stands where: by place (`span`, `agent`, `event` or the event's name) and attribute."""
    found: dict[tuple[str, str], set[str]] = {}
    for span in spans:
        operation = span.attributes.get("gen_ai.operation.name")
        places = ["span", {"invoke_agent": "agent", "execute_tool": "tool"}.get(str(operation), "other")]
        for key, value in span.attributes.items():
            for place in places:
                found.setdefault((place, key), set()).add(_type(value))
        for event in span.events:
            for key, value in event.attributes.items():
                found.setdefault(("event", key), set()).add(_type(value))
                found.setdefault((event.name, key), set()).add(_type(value))
        for key, value in span.resource.items():
            found.setdefault(("resource", key), set()).add(_type(value))
    return found


def _type(value: object) -> str:
    return (
        "string[]"
        if isinstance(value, (list, tuple))
        else {"str": "string"}.get(type(value).__name__, type(value).__name__)
    )


def test_the_table_says_where_each_attribute_stands(api: str) -> None:
    """Every attribute on spans of these runs has its row: its places, and its type in each of them."""
    hints = {"stall.task.class"}
    written = _written([one for one in _spans(api, {}) if "today" not in str(one.attributes)])
    keys = {key for _, key in written if key.startswith("stall.")} - hints
    assert set(places()) == keys
    for key, (tool, agent, event, kind) in places().items():
        names = ("stall.ended", "stall.milestone_reached")
        where = {"tool": tool, "agent": agent, "event": event}
        for place, said in where.items():
            assert bool(said) == ((place, key) in written), (key, place)
            assert not said or written[place, key] == {kind}, (key, place)
        for name in names:
            assert f"`{name}`" != event or {name} == {one for one, other in written if other == key and one != "event"}
        assert ("resource", key) not in written


VALUES: Final[Mapping[str, set[str]]] = {
    "stall.kind": set(Kind),
    "stall.level": set(Level),
    "stall.gain.type": set(Gain),
    "stall.gain.reason": set(Reason),
    "stall.end.reason": set(EndReason),
    "stall.milestone.evidence": set(Evidence),
}
TYPES: Final = {"String": "string", "Integer": "int", "": "bool"}


@pytest.mark.parametrize("query", [*(one.query for one in recipes("traceql")), *dashboard_traceql()])
def test_traceql_asks_for_what_is_written(query: str, api: str) -> None:
    """Grafana's grammar reads it, and each attribute stands on spans or events as it says, with such a value."""
    (read,) = read_traceql([query])
    assert not read.errors
    written = _written(_spans(api, {}))
    for attribute in read.attributes:
        if attribute not in ("name", "event:name"):
            scope, _, key = attribute.partition(".")
            assert (scope, key) in written, attribute
    assert read.comparisons or query == "{ }"
    for attribute, operator, kind, value in read.comparisons:
        scope, _, key = attribute.partition(".")
        if ":" in attribute or attribute == "name":
            assert kind == "String"
            continue
        assert written[scope, key] == {TYPES[kind]}, attribute
        if key in VALUES and "$" not in value:
            asked = value.strip('"').split("|") if operator == "=~" else [value.strip('"')]
            assert set(asked) <= VALUES[key], value


@pytest.mark.parametrize("query", ["{ span.stall.detected = true", "{ span.stall.kind == 1 }", "{ } | rates()"])
def test_the_grammar_finds_mistakes(query: str) -> None:
    """A brace too few, an operator or a function that there is not."""
    (read,) = read_traceql([query])
    assert read.errors

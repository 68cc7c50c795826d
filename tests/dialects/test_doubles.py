"""The same call as two spans is one call; two calls are two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from otel_stall.calls import ABSENT, Capture, CompactionMark, Content, ModelCall, Reading, ToolCall
from otel_stall.dialects import Ancestor, Doubles, merge

MS = 1_000_000
ARGUMENTS = Content({"command": "ls"}, Capture.CAPTURED)
RESULT = Content("a.py", Capture.CAPTURED)


def tool(
    span_id: str, call: ToolCall, start: int = 0, end: int = 10, scope: str = "outer", parent: str = ""
) -> Reading:
    return Reading("t", span_id, parent, f"execute_tool {call.tool}", start * MS, end * MS, scope, "genai", call)


FULL = ToolCall("bash", ARGUMENTS, RESULT)
BARE = ToolCall("bash")
AGENT = Reading("t", "agent", "", "invoke_agent coder", 0, 99 * MS, dialect="genai", agent="coder", is_agent=True)


def admitted(*readings: Reading) -> list[Reading]:
    """Return what is admitted of one trace, live: in the order of the ends, ancestors known by name only."""
    known = {each.span_id: each for each in readings}
    doubles = Doubles()
    found = []
    for reading in sorted(readings, key=lambda each: each.end_ns):
        above, at = [], known.get(reading.parent_id)
        while at:
            above.append(Ancestor(at.span_id, at.name, at.scope))
            at = known.get(at.parent_id)
        found.append(doubles.admit(reading, above))
    return [each for each in found if each is not None]


def test_a_transport_span_without_content_leaves_the_call_to_the_outer_span() -> None:
    """The inner ends first and knows less; what it says of failure and ids completes the outer."""
    outer = tool("o", FULL, 0, 10)
    inner = tool("i", replace(BARE, failed=True, call_id="c", exit_code=2), 1, 9, "inner", "o")
    whole = replace(outer, record=replace(FULL, failed=True, call_id="c", exit_code=2))
    assert admitted(outer, inner) == [whole]
    assert merge([outer, inner]) == [whole]


def test_an_inner_span_with_content_carries_the_call() -> None:
    """The outer is its double; offline it still fills what the inner left empty."""
    outer = replace(tool("o", replace(BARE, failed=False, result=RESULT), 0, 10), conversation="c")
    inner = tool("i", replace(FULL, result=ABSENT), 1, 9, "inner", "o")
    assert admitted(outer, inner) == [inner]
    filled = replace(inner, conversation="c", record=replace(FULL, failed=False))
    assert merge([outer, inner]) == [filled]


def test_two_instrumentations_side_by_side_are_one_call() -> None:
    """Same arguments by value, for one of them may have lost the parameter's name; or the same call id."""
    lost = tool("a", ToolCall("bash", Content("ls", Capture.CAPTURED)), 0, 10, "one")
    named = tool("b", FULL, 1, 11, "two")
    assert admitted(lost, named) == [lost]
    assert merge([lost, named]) == [replace(lost, record=FULL)]
    by_id = [tool(s, replace(BARE, call_id="c"), 0, 10, s) for s in "ab"]
    assert admitted(*by_id) == by_id[:1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tool("a", FULL), tool("b", FULL)),
        (tool("a", FULL, scope="x"), tool("b", FULL, 60, 70, "y")),
        (tool("a", FULL, 0, 5, "x"), tool("b", FULL, 6, 10, "y")),
        (tool("a", FULL, scope="x"), tool("b", replace(FULL, tool="grep"), scope="y")),
        (tool("a", replace(FULL, call_id="1"), scope="x"), tool("b", replace(FULL, call_id="2"), scope="y")),
        (tool("a", BARE, scope="x"), tool("b", BARE, scope="y")),
        (tool("a", FULL, scope="x"), replace(tool("b", FULL, scope="y"), trace_id="u")),
    ],
    ids=["same scope", "later", "in sequence", "tools", "call ids", "nothing to compare", "traces"],
)
def test_two_calls_are_two(one: Reading, other: Reading) -> None:
    """A parallel repeat in one instrumentation is real, and so is whatever does not match."""
    assert admitted(one, other) == [one, other]
    assert merge([one, other]) == [one, other]


def test_an_agent_between_two_spans_makes_them_two_calls() -> None:
    """A sub-agent that calls a tool of the name of the tool it is."""
    outer = tool("o", ToolCall("search"), 0, 20, "host")
    agent = replace(AGENT, span_id="a", parent_id="o", start_ns=1 * MS, end_ns=19 * MS)
    inner = tool("i", ToolCall("search"), 2, 9, "other", "a")
    calls = [each for each in admitted(outer, agent, inner) if each.record]
    assert calls == [inner, outer]


def test_a_tool_of_the_same_instrumentation_above_is_another_call() -> None:
    """Except for the transport that the same instrumentation wrote."""
    outer, inner = tool("o", BARE, 0, 10), tool("i", BARE, 1, 9, parent="o")
    assert admitted(outer, inner) == [inner, outer]
    transport = replace(inner, dialect="mcp", name="tools/call bash")
    assert admitted(outer, transport) == [outer]
    assert merge([outer, transport]) == [outer]


@pytest.mark.parametrize(
    "name", ["running tool", "bash", "coder.bash", "bash.tool", "Function: {name}", "tools/call bash"]
)
def test_an_open_span_is_known_by_its_name(name: str) -> None:
    """Most emitters say what a span is only when it ends."""
    inner = tool("i", BARE, 1, 9, "inner", "o")
    assert Doubles().admit(inner, [Ancestor("o", name, "outer")]) is None
    assert Doubles().admit(inner, [Ancestor("o", name, "outer", tool="")]) == inner
    assert Doubles().admit(inner, [Ancestor("o", "POST", "outer")]) == inner


def test_a_server_prefix_does_not_make_another_tool() -> None:
    """`mcp__files__read` and `read` are one tool."""
    outer = tool("o", ToolCall("mcp__files__read", ARGUMENTS), 0, 10)
    inner = tool("i", ToolCall("read"), 1, 9, "mcp", "o")
    assert admitted(outer, inner) == [outer]


def test_a_span_that_comes_twice_counts_once() -> None:
    """Redelivered batches and files that overlap."""
    doubles = Doubles()
    assert [doubles.admit(tool("a", FULL)), doubles.admit(tool("a", FULL))] == [tool("a", FULL), None]
    assert merge([tool("a", FULL), AGENT, tool("a", FULL)]) == [tool("a", FULL), AGENT]


def test_a_model_turn_of_two_instrumentations_is_one() -> None:
    """Side by side or nested; one after the other they are two."""
    turn = Reading("t", "m", "", "chat", 0, 10 * MS, "one", "genai", ModelCall("done"))
    twin = replace(turn, span_id="n", scope="two", dialect="openinference")
    nested = replace(twin, start_ns=-100 * MS, end_ns=200 * MS)
    later = replace(twin, start_ns=90 * MS, end_ns=99 * MS)
    assert admitted(turn, twin) == [turn]
    assert admitted(replace(turn, parent_id="n"), nested) == [replace(turn, parent_id="n")]
    assert admitted(turn, later) == [turn, later]


def test_a_compaction_of_two_instrumentations_is_one() -> None:
    """Else one compaction would make two epochs."""
    mark = Reading("t", "m", "", "M", 0, 10 * MS, "one", "genai", CompactionMark("langchain"))
    assert admitted(mark, replace(mark, span_id="n", scope="two")) == [mark]


def test_what_is_no_record_is_always_admitted() -> None:
    """Agents and spans of nobody pass, in the order of their ends."""
    other = Reading("t", "x", "agent", "GET", 0, 1)
    assert merge([AGENT, other]) == [other, AGENT]
    assert Doubles().admit(other) == other


def test_what_is_remembered_holds_nothing_of_what_a_call_said() -> None:
    """Some emitters put the whole error where its class belongs; that is not kept live, and offline it is not lost."""
    said = Content({"a": "secret"}, Capture.CAPTURED)
    call = ToolCall("bash", said, Content("secret"), failed=True, error_type="secret", error_message="secret")
    doubles = Doubles()
    for reading in (tool("a", call, 0, 1), tool("b", call, 5, 6, "inner", "o")):
        doubles.admit(reading, [Ancestor("o", "execute_tool bash", "outer")])
    assert "secret" not in repr((doubles._spans, doubles._peers, doubles._inner, doubles._called))
    inner = tool("i", replace(BARE, failed=True, error_type="E"), 1, 9, "inner", "o")
    assert merge([tool("o", FULL), inner]) == [tool("o", replace(FULL, failed=True, error_type="E"))]


def test_memory_is_bounded() -> None:
    """However many spans come, so many are remembered."""
    doubles = Doubles(window=8)
    for number in range(200):
        doubles.admit(tool(f"{number}", FULL, number, number + 1, parent=f"p{number}"), [Ancestor(f"p{number}", "x")])
    assert doubles.remembered() <= 3 * 8 * 16


def of_host(name: str, call: ToolCall, at: int, *, parent: str = "", log: bool = False, trace: str = "t") -> Reading:
    """Return a reading of one host, a span of ten milliseconds or a record."""
    start = at * MS if log else (at - 10) * MS
    scope, dialect = "com.anthropic.claude_code", "claude-code"
    return Reading(trace, name, parent, name, start, at * MS, scope, dialect, call, conversation="s", log=log)


def test_a_record_in_another_trace_is_joined_by_its_call_id() -> None:
    """Hosts write records outside of any trace; what the span leaves empty they fill."""
    span = of_host("a", ToolCall("Bash", call_id="1"), 10)
    record = of_host("log:1", replace(FULL, tool="Bash", call_id="1", failed=True), 11, log=True, trace="")
    other = of_host("log:2", replace(FULL, tool="Bash", call_id="2"), 12, log=True, trace="")

    assert merge([record, span, other]) == [
        replace(span, record=replace(FULL, tool="Bash", call_id="1", failed=True)),
        other,
    ]


def test_a_record_is_joined_to_the_span_it_was_written_in_or_beside() -> None:
    """Without a call id the place tells, and two equal calls of one batch have a record each."""
    inside = of_host("log:1", FULL, 11, log=True, parent="a")
    span = of_host("a", replace(FULL, call_id="1"), 10, parent="batch")
    second = of_host("b", replace(FULL, call_id="2"), 12, parent="batch")
    beside = [of_host(f"log:{at}", FULL, at, log=True, parent="batch") for at in (13, 14)]

    assert [reading.span_id for reading in merge([span, inside])] == ["a"]
    assert [reading.span_id for reading in merge([span, second, *beside])] == ["a", "b"]
    assert admitted(span, second, *beside) == [span, second]


def test_a_part_completes_the_call_around_it_and_is_none_itself() -> None:
    """Outcome and refusal may stand in spans of their own below the call."""
    span = of_host("a", replace(FULL, call_id="1"), 10)
    part = of_host("p", ToolCall("", failed=True, denied=True, call_id="1", part=True), 9, parent="a")
    stray = replace(part, span_id="q", parent_id="gone")

    assert merge([part, span, stray]) == [replace(span, record=replace(FULL, call_id="1", failed=True, denied=True))]
    assert admitted(part, span) == merge([part, span])


def test_live_a_span_without_contents_leaves_its_call_to_the_record() -> None:
    """Once a host's records had the contents, a span without any is not the step: its record is on its way."""
    first = [of_host("a", FULL, 10), of_host("log:1", FULL, 11, log=True)]
    bare = of_host("b", ToolCall(FULL.tool, call_id="2"), 20)
    record = of_host("log:2", replace(FULL, call_id="2"), 21, log=True)
    doubles = Doubles()
    for reading in first:
        doubles.admit(reading)

    assert [doubles.admit(bare), doubles.admit(record)] == [None, record]
    assert Doubles().admit(bare) == bare

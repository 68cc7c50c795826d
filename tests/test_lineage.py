"""Rules of `lineage`: conversation, lane and agent of a span, live and offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.calls import CompactionMark, Reading, ToolCall
from otel_stall.dialects.doubles import Ancestor
from otel_stall.lineage import Lineage, Opening, Renamed, Whose
from otel_stall.verdicts import Judged

TRACE = "a" * 32


def span(span_id: str, parent_id: str = "", start: int = 0, end: int = 100, *, conversation: str = "") -> Reading:
    return Reading(TRACE, span_id, parent_id, "span", start, end, conversation=conversation)


def agent(span_id: str, parent_id: str, name: str, start: int = 0, end: int = 100) -> Reading:
    return replace(span(span_id, parent_id, start, end), agent=name, is_agent=True)


def tool(span_id: str, parent_id: str = "", start: int = 0, end: int = 100) -> Reading:
    return replace(span(span_id, parent_id, start, end), record=ToolCall("read"))


def lanes(*readings: Reading) -> dict[str, str]:
    """Return the lane of each tool call, by span id, as the offline analysis finds it."""
    lineage = Lineage.of(readings)
    return {r.span_id: lineage.resolve(r).lane for r in readings if isinstance(r.record, ToolCall)}


@dataclass
class Asked:
    """An open span for tests: says what is put into `says`, once."""

    says: list[Reading] = field(default_factory=list)
    open: bool = True

    def changed(self) -> Reading | None:
        return self.says.pop() if self.says else None

    def alive(self) -> bool:
        return self.open

    def tell(self, judged: Sequence[Judged]) -> None:
        raise AssertionError("lineage tells nobody by itself")


def start(lineage: Lineage, reading: Reading, carried: str = "", live: Asked | None = None) -> None:
    lineage.opened(
        Opening(
            reading.trace_id,
            reading.span_id,
            reading.parent_id,
            reading.start_ns,
            reading.name,
            carried=carried,
            live=live or Asked([reading]),
        )
    )
    lineage.named(reading.trace_id, reading.span_id)


def finish(lineage: Lineage, reading: Reading) -> Whose:
    lineage.ended(reading)
    return lineage.resolve(reading)


class TestConversation:
    def test_the_span_itself_comes_first(self) -> None:
        """What the span says wins over baggage, ancestors and the resource."""
        lineage = Lineage(100)
        start(lineage, span("r", conversation="of the root"))
        start(lineage, tool("t", "r"), carried="of the baggage")
        step = replace(tool("t", "r"), conversation="own", resource_conversation="of the resource")
        assert finish(lineage, step) == Whose("own")

    def test_baggage_comes_before_an_ancestor(self) -> None:
        """The baggage a span started with wins over what its parent says."""
        lineage = Lineage(100)
        start(lineage, span("r", conversation="of the root"))
        start(lineage, tool("t", "r"), carried="of the baggage")
        assert finish(lineage, tool("t", "r")) == Whose("of the baggage")

    def test_the_nearest_ancestor_comes_before_the_resource(self) -> None:
        """Of several ancestors the nearest counts, open or ended, and the resource only after them."""
        lineage = Lineage(100)
        start(lineage, span("r", conversation="far"))
        start(lineage, span("a", "r", conversation="near"))
        step = replace(tool("t", "a"), resource_conversation="of the resource")
        assert finish(lineage, step) == Whose("near")
        alone = replace(tool("u"), trace_id="b" * 32, resource_conversation="of the resource")
        assert finish(lineage, alone) == Whose("of the resource")

    def test_an_open_ancestor_is_asked_again(self) -> None:
        """An id that the emitter sets between the start of the parent and the end of the step is found."""
        lineage = Lineage(100)
        root = Asked()
        start(lineage, span("r"), live=root)
        start(lineage, tool("t", "r"))
        root.says.append(span("r", conversation="late"))
        assert finish(lineage, tool("t", "r")) == Whose("late")

    def test_without_any_the_trace_stands_in(self) -> None:
        """Where nothing names a conversation the trace id does, and the result says it is provisional."""
        assert finish(Lineage(10), tool("t")) == Whose(TRACE, provisional=True)

    def test_the_id_that_comes_last_renames(self) -> None:
        """A root that ends with an id renames the provisional conversation once; later steps go there."""
        lineage = Lineage(100)
        start(lineage, span("r"))
        assert finish(lineage, tool("t", "r")) == Whose(TRACE, provisional=True)
        assert lineage.renamed() == []
        lineage.ended(span("r", conversation="real"))
        assert lineage.renamed() == [Renamed(TRACE, "real")]
        assert lineage.renamed() == []
        assert finish(lineage, tool("u", "unseen")) == Whose("real")

    def test_a_trace_of_two_conversations_lends_none(self) -> None:
        """Once a trace names two conversations, steps with no ancestor that says are provisional again."""
        lineage = Lineage(100)
        lineage.ended(span("r", conversation="one"))
        assert finish(lineage, tool("t", "gone")) == Whose("one")
        lineage.ended(span("s", conversation="two"))
        assert finish(lineage, tool("u", "gone")) == Whose(TRACE, provisional=True)
        assert finish(lineage, tool("v", "s")) == Whose("two")

    def test_offline_the_early_steps_know_too(self) -> None:
        """Offline an id said at the end of the root, or anywhere in its trace, reaches the first step."""
        lineage = Lineage.of([tool("t", "r"), tool("x", "missing"), span("r", conversation="real")])
        assert [lineage.resolve(tool("t", "r")), lineage.resolve(tool("x", "missing"))] == [Whose("real")] * 2
        assert lineage.renamed() == []


class TestLane:
    def test_nobody_named_is_main(self) -> None:
        """Steps of an agent without a name are in lane main; agent spans without a name change nothing."""
        assert lanes(agent("a", "", ""), tool("t", "a"), tool("u")) == {"t": "main", "u": "main"}

    def test_path_of_names_from_the_root(self) -> None:
        """Nested agents join their names; a slash in a name cannot be mistaken for a level."""
        found = lanes(
            agent("a", "", "lead"),
            span("c", "a"),
            tool("t", "c"),
            agent("b", "t", "org/coder"),
            tool("u", "b"),
        )
        assert found == {"t": "lead", "u": "lead/org%2Fcoder"}

    def test_the_id_comes_before_the_name(self) -> None:
        """A lane is named by the agent's id where there is one; the agent still shows its name."""
        whose = replace(agent("a", "", "coder"), agent_id="id-7")
        lineage = Lineage.of([whose, tool("t", "a")])
        assert lineage.resolve(tool("t", "a")) == Whose(TRACE, "id-7", "coder", provisional=True)

    def test_an_id_that_tells_nothing_leaves_the_name(self) -> None:
        """An id that is only a UUID is no name for a lane where the agent has one."""
        uuid = "0b1f6a2c-8f6e-4c55-9d0e-1f2a3b4c5d6e"
        named = replace(agent("named", "", "coder"), agent_id=uuid)
        nameless = replace(agent("nameless", "", "", 200, 300), agent_id=uuid)
        found = lanes(named, nameless, tool("s", "named"), tool("t", "nameless", 210, 220))
        assert found == {"s": "coder", "t": uuid}

    def test_a_workflow_is_an_agent_where_it_names_none(self) -> None:
        """Its own steps have its name; agents that it runs stand by themselves, those it calls by a tool below it."""
        root = replace(agent("root", "", "Agent Workflow"), is_workflow=True)
        called = replace(agent("c", "s", "caller"), is_workflow=True)
        found = lanes(
            root,
            tool("s", "root"),
            agent("a", "root", "coder"),
            agent("b", "a", "searcher"),
            tool("t", "b"),
            replace(tool("u", "root"), agent="writer"),
            called,
            tool("v", "c"),
        )
        assert found == {"s": "Agent Workflow", "t": "coder/searcher", "u": "writer", "v": "Agent Workflow/caller"}

    def test_double_instrumentation_is_one(self) -> None:
        """An agent span directly inside one of the same name is the same invocation, with or without id."""
        inner = replace(agent("b", "c", "lead", 2, 90), agent_id="id-7")
        assert lanes(agent("a", "", "lead"), span("c", "a"), inner, tool("t", "b")) == {"t": "lead"}

    def test_two_trees_of_two_instrumentations_are_one(self) -> None:
        """Agent spans of two scopes that start together beside each other are one invocation."""
        twins = [
            replace(agent("a", "r", "lead"), scope="one"),
            replace(agent("b", "r", "lead", 1_000_000, 2_000_000), scope="two"),
        ]
        assert lanes(span("r"), *twins, tool("t", "a"), tool("u", "b")) == {"t": "lead", "u": "lead"}

    def test_an_agent_that_calls_itself_by_a_tool(self) -> None:
        """Real recursion goes through a tool call and gets its own lane."""
        found = lanes(agent("a", "", "lead"), tool("t", "a"), agent("b", "t", "lead"), tool("u", "b"))
        assert found == {"t": "lead", "u": "lead/lead"}

    def test_reinvocation_continues(self) -> None:
        """The second invocation of an agent goes on in the lane of the first, in another trace as well."""
        first = [agent("a", "r", "coder", 0, 10), tool("t", "a", 1, 5)]
        again = [agent("b", "r", "coder", 10, 20), tool("u", "b", 11, 15)]
        assert lanes(span("r"), *first, *again) == {"t": "coder", "u": "coder"}

    def test_overlapping_invocations_are_numbered(self) -> None:
        """Overlapping invocations of one name are numbered by their start, not by their place in the file."""
        found = lanes(
            agent("c", "r", "coder", 40, 90),
            agent("b", "r", "coder", 20, 30),
            agent("a", "r", "coder", 10, 50),
            agent("d", "r", "writer", 10, 50),
            tool("tc", "c"),
            tool("tb", "b"),
            tool("ta", "a"),
            tool("td", "d"),
            span("r"),
        )
        assert found == {"ta": "coder", "tb": "coder#2", "tc": "coder#2", "td": "writer"}

    def test_overlap_in_other_conversations_does_not_count(self) -> None:
        """Two conversations at a time each have their own first invocation."""
        one = replace(agent("a", "", "coder"), conversation="one")
        two = replace(agent("b", "", "coder"), conversation="two", trace_id="b" * 32)
        step = replace(tool("u", "b"), trace_id="b" * 32)
        assert lanes(one, two, tool("t", "a"), step) == {"t": "coder", "u": "coder"}

    def test_a_step_that_names_its_agent(self) -> None:
        """A tool span that names an agent belongs to it: to the ancestor of that name, or one level below."""
        named = [replace(tool(i, "b"), agent=name) for i, name in zip("tuv", ("coder", "lead", "x"), strict=True)]
        found = lanes(agent("a", "", "lead"), agent("b", "a", "coder"), *named)
        assert found == {"t": "lead/coder", "u": "lead", "v": "lead/coder/x"}

    def test_a_compaction_beside_the_agents(self) -> None:
        """A compaction under no agent concerns the agent that acted last in its conversation, if any did."""
        lineage = Lineage(100)
        compaction = replace(span("c"), record=CompactionMark("host"))
        assert finish(lineage, replace(compaction, span_id="b")).lane == "main"
        lineage.ended(agent("a", "", "coder"))
        finish(lineage, tool("t", "a"))
        assert finish(lineage, compaction).lane == "coder"
        lineage.ended(span("r", conversation="real"))
        assert finish(lineage, replace(compaction, span_id="d")) == Whose("real", "coder", "coder")

    def test_live_overlap_goes_by_start(self) -> None:
        """Live, an agent named at its start has its number before its first step ends."""
        lineage = Lineage(100)
        start(lineage, agent("a", "", "coder", 1))
        start(lineage, agent("b", "", "coder", 2))
        found = [finish(lineage, tool("t", "b")).lane, finish(lineage, tool("u", "a")).lane]
        assert found == ["coder#2", "coder"]

    def test_an_invocation_that_never_ended_is_over(self) -> None:
        """An agent span that the host dropped without ending it holds no number."""
        lineage = Lineage(100)
        lost = Asked([agent("a", "", "coder", 1)])
        start(lineage, agent("a", "", "coder", 1), live=lost)
        lost.open = False
        start(lineage, agent("b", "", "coder", 2))
        assert finish(lineage, tool("t", "b")).lane == "coder"

    def test_late_children_find_an_ended_parent(self) -> None:
        """A tool span that ends after its agent is still in the agent's lane."""
        lineage = Lineage(100)
        start(lineage, agent("a", "", "coder"))
        start(lineage, tool("t", "a"))
        lineage.ended(agent("a", "", "coder"))
        assert finish(lineage, tool("t", "a")).lane == "coder"


class TestAncestors:
    def test_what_is_known_of_the_spans_above(self) -> None:
        """Nearest first; of an open span nobody knows yet what tool it is, of one that ended everybody does."""
        lineage = Lineage(100)
        start(lineage, replace(span("a"), name="invoke_agent"))
        for above, inner in (("a", "b"), ("b", "c"), ("c", "t")):
            start(lineage, span(inner, above))
        lineage.ended(replace(tool("b", "a"), name="execute_tool read", scope="s"))
        lineage.ended(span("c", "b"))
        lineage.ended(tool("t", "c"))
        assert lineage.ancestors(tool("t", "c")) == [
            Ancestor("c", "span", "", ""),
            Ancestor("b", "execute_tool read", "", "read"),
            Ancestor("a", "invoke_agent", "", None),
        ]

    def test_no_further_than_doubles_go(self) -> None:
        """Thirty-two spans above are enough."""
        chain = [span(str(n), str(n - 1) if n else "") for n in range(50)]
        found = Lineage.of(chain).ancestors(tool("t", "49"))
        assert [above.span_id for above in found] == [str(n) for n in range(49, 17, -1)]


class TestBounds:
    def test_open_spans_are_bounded_and_counted(self) -> None:
        """The span open the longest falls out, is counted, and its steps are provisional."""
        lineage = Lineage(2)
        for name in "abc":
            start(lineage, replace(agent(name, "", name), trace_id=name * 32))
        assert lineage.dropped["open_spans"] == 1
        steps = [replace(tool("t", name), trace_id=name * 32) for name in "abc"]
        assert [finish(lineage, step).lane for step in steps] == ["main", "b", "c"]

    @pytest.mark.parametrize("ids", [["a"], ["a", "b"], ["a", "b", "c"]])
    def test_cycles_end(self, ids: list[str]) -> None:
        """Parents that lead back to the span end the search."""
        ring = [agent(i, ids[index - 1], "x") for index, i in enumerate(ids)]
        assert lanes(*ring, tool("t", ids[0])) == {"t": "x"}

    def test_deep_chains(self) -> None:
        """Ten thousand nested agents resolve without recursion, in a lane of bounded depth."""
        chain = [agent(str(n), str(n - 1) if n else "", f"agent-{n}", n) for n in range(10_000)]
        lineage = Lineage.of(chain)
        lane = lineage.resolve(tool("t", "9999")).lane
        assert lane == "/".join(f"agent-{n}" for n in range(16))

    @given(
        st.lists(
            st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdefg"), st.sampled_from(["", "x", "y"])),
            max_size=12,
        )
    )
    def test_any_forest_resolves(self, spans: list[tuple[str, str, str]]) -> None:
        """Whatever the parent ids, every span has one conversation and one lane, the same each time."""
        readings = [agent(i, parent, name, n) for n, (i, parent, name) in enumerate(spans)]
        lineage = Lineage.of(readings)
        first = [lineage.resolve(reading) for reading in readings]
        assert first == [lineage.resolve(reading) for reading in readings]
        assert all(whose.conversation and whose.lane for whose in first)

    def test_invocations_at_the_same_time(self) -> None:
        """However many invocations of one agent are open at once, so many are told apart; the others share a lane."""
        lineage = Lineage(10_000)
        for number in range(1_000):
            reading = agent(f"{number:016x}", "", "coder", number * 10**9, number * 10**9)
            start(lineage, reading, "c", Asked([reading]))
            lineage.named(TRACE, reading.span_id)
        found = [lineage.resolve(agent(f"{number:016x}", "", "coder")).lane for number in (0, 1, 254, 255, 256, 999)]
        assert found == ["coder", "coder#2", "coder#255", "coder#256", "coder#256", "coder#256"]
        assert lineage.dropped["agents"] == 1_000 - 256


class TestOpened:
    def test_the_conversation_a_span_starts_in(self) -> None:
        """What the context carries, else what the parent said or started in, else what the trace stands for."""
        lineage = Lineage(100)

        def opened(span_id: str, parent_id: str = "", carried: str = "", live: Asked | None = None) -> str:
            return lineage.opened(Opening(TRACE, span_id, parent_id, 0, carried=carried, live=live or Asked()))

        assert opened("root", live=Asked([span("root", conversation="c")])) == ""
        assert opened("child", "root") == "c"
        assert opened("grandchild", "child") == "c"
        assert opened("carried", "root", "other") == "other"
        assert opened("below", "carried") == "other"
        lineage.ended(span("root", conversation="c"))
        assert opened("orphan", "unknown") == "c"

    def test_a_trace_of_two_conversations(self) -> None:
        """A trace that named two stands for none."""
        lineage = Lineage(100)
        for conversation in ("c", "d"):
            lineage.ended(span(conversation, conversation=conversation))
        assert lineage.opened(Opening(TRACE, "orphan", "unknown", 0)) == ""

    def test_spans_that_are_remembered(self) -> None:
        """Open and ended ones."""
        lineage = Lineage(100)
        start(lineage, span("open"))
        lineage.ended(span("ended"))
        assert [lineage.knows(TRACE, each) for each in ("open", "ended", "unseen")] == [True, True, False]


class TestAgentAbove:
    def test_the_nearest_open_agent(self) -> None:
        """Of nested agents the nearest; none once it has ended, and never one further up in its place."""
        lineage = Lineage(100)
        lead, coder = Asked([agent("l", "", "lead")]), Asked([agent("a", "l", "coder")])
        start(lineage, agent("l", "", "lead"), live=lead)
        start(lineage, agent("a", "l", "coder"), live=coder)
        step = tool("t", "a")
        lineage.ended(step)
        assert lineage.agent_above(step) is coder
        lineage.ended(agent("a", "l", "coder"))
        assert lineage.agent_above(step) is None
        assert lineage.agent_above(tool("u", "l")) is lead
        assert lineage.agent_above(tool("v")) is None

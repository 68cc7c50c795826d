"""Agents that work, get stuck, forget and end, for the soak: spans of a host in this process, drawn by a seed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.trace import Span, Tracer, set_span_in_context

__all__ = ["Agent", "Host"]

_WORDS: Final = (  # noqa: SIM905 # words, to be read
    "error warning module function value request response handler config index cache token worker thread socket "
    "buffer stream parser query table schema field column record event queue task retry timeout session user"
).split()
_TURN: Final = 40
"""Tool calls under one span of the agent, which is one trace."""
_POOL: Final = 100_000
"""Different lines that results are cut from."""
_PLAIN: Final = 5
"""Tool calls to one plain span of a library below them."""
_LEAKED: Final = 0.002
"""Share of the calls whose span never ends, as of a host that loses them."""
_CONTEXT: Final = 120_000
"""Tokens of input at which an agent's context is compacted."""


@dataclass(slots=True)
class Agent:
    """One conversation: what it has done lately, and how many calls it will still make."""

    name: str
    conversation: str
    left: int
    mood: str = "works"
    until: int = 0
    done: int = 0
    tokens: int = 2_000
    lately: list[tuple[str, str, str]] = field(default_factory=list)
    span: Span | None = None


class Host:
    """Makes the spans of `busy` agents in turn; `endless` of them never end, the others after 5 to 400 calls.

    `names` different agents are spoken of: more than metrics tell apart.
    """

    def __init__(self, tracer: Tracer, seed: int, *, busy: int = 200, endless: int = 6, names: int = 1_000) -> None:
        self.conversations = 0
        self._tracer = tracer
        self._draw = random.Random(seed)
        self._names = names
        self._pool = [f"{number}: {' '.join(self._draw.choices(_WORDS, k=4))}" for number in range(_POOL)]
        self._agents = [self._new(left=1 << 60) for _ in range(endless)]
        self._agents += [self._new() for _ in range(busy - endless)]

    def step(self) -> None:
        """Let one agent make one tool call, with what is around it: its own span, model turns, plain spans."""
        place = self._draw.randrange(len(self._agents))
        agent = self._agents[place]
        parent = self._span_of(agent)
        if agent.done % 4 == 0:
            self._turn(agent, parent)
        tool, arguments, result = self._act(agent)
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": result,
        }
        span = self._tracer.start_span(f"execute_tool {tool}", set_span_in_context(parent), attributes=attributes)
        if agent.done % _PLAIN == 0:
            self._tracer.start_span("GET", set_span_in_context(span), attributes={"http.request.method": "GET"}).end()
        if self._draw.random() >= _LEAKED:
            span.end()
        agent.done += 1
        agent.left -= 1
        if agent.left <= 0:
            parent.end()
            self._agents[place] = self._new()

    def end(self) -> None:
        """End the spans that are open."""
        for agent in self._agents:
            if agent.span is not None:
                agent.span.end()

    def _new(self, left: int = 0) -> Agent:
        self.conversations += 1
        name = f"agent-{self._draw.randrange(self._names)}"
        return Agent(name, f"conversation-{self.conversations}", left or self._draw.choice((5, 20, 60, 400)))

    def _span_of(self, agent: Agent) -> Span:
        if agent.span is not None and agent.done % _TURN == 0:
            agent.span.end()
            agent.span = None
        if agent.span is None:
            attributes = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent.name,
                "gen_ai.conversation.id": agent.conversation,
                "stall.task.class": f"class-{self._draw.randrange(self._names)}",
            }
            agent.span = self._tracer.start_span(f"invoke_agent {agent.name}", attributes=attributes)
        return agent.span

    def _turn(self, agent: Agent, parent: Span) -> None:
        agent.tokens += self._draw.randrange(500, 4_000)
        if agent.tokens > _CONTEXT:
            agent.tokens = 6_000
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": agent.tokens}
        self._tracer.start_span("chat", set_span_in_context(parent), attributes=attributes).end()

    def _act(self, agent: Agent) -> tuple[str, str, str]:
        """Return the next call: new ones while it works, one of the last three while it is stuck."""
        if agent.done >= agent.until:
            agent.mood = "stuck" if self._draw.random() < 0.25 else "works"
            agent.until = agent.done + self._draw.randrange(5, 30)
        if agent.mood == "stuck" and agent.lately:
            return agent.lately[agent.done % len(agent.lately)]
        act = self._new_act()
        agent.lately = [*agent.lately[-2:], act]
        return act

    def _new_act(self) -> tuple[str, str, str]:
        draw = self._draw
        drawn, number = draw.random(), draw.randrange(10_000)
        if drawn < 0.5:
            return "read_file", json.dumps({"path": f"src/{number}.py"}), self._lines(8)
        if drawn < 0.7:
            return "bash", json.dumps({"command": f"grep -rn {draw.choice(_WORDS)} src/{number}"}), self._lines(4)
        if drawn < 0.85:
            content = {"path": f"src/{number}.py", "old_string": "a", "new_string": f"b{draw.random()}"}
            return "edit_file", json.dumps(content), "edited"
        if drawn < 0.95:
            failed = draw.randrange(3)
            said = f"{failed} failed, 9 passed" if failed else "9 passed"
            return "bash", json.dumps({"command": "pytest tests"}), said
        return "search_web", json.dumps({"query": " ".join(draw.choices(_WORDS, k=4))}), self._lines(3)

    def _lines(self, number: int) -> str:
        begin = self._draw.randrange(_POOL - number)
        return "\n".join(self._pool[begin : begin + number])

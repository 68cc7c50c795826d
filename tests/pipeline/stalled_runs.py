"""Runs whose stalls are known, as spans without verdicts: loops, and a repair that stalls, forgets and recovers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from downstreams import run
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from otel_stall.demo.script import SCENES
from otel_stall.demo.workspace import Workspace
from otel_stall.testing import RecordedProvider

__all__ = ["TASK_CLASS", "Runs", "forgetful", "repair", "runs"]

TASK_CLASS: Final = "repair"


@dataclass(frozen=True, slots=True)
class Runs:
    """Spans by conversation: `lost` loops up to `abandon`, `short` loops up to `replan`, `well` does not stall.

    `mended` has a milestone, a stall of kind `no_gradient` that reaches `ask_user`, one of kind `amnesia` that stays at
    `notice`, and two more milestones; its agent is `fixer`, the others' `coder`.
    """

    lost: Sequence[Any]
    short: Sequence[Any]
    well: Sequence[Any]
    mended: Sequence[Any]

    def every(self) -> list[Sequence[Any]]:
        """Return the spans of each run."""
        return [self.lost, self.short, self.well, self.mended]


def runs() -> Runs:
    """Return the four, the same each time."""
    return Runs(run("lost", steps=40), run("short", steps=12), run("well", steps=1), repair("mended"))


def repair(conversation: str, *processors: SpanProcessor) -> list[Any]:
    """Return the run of `otel-stall demo`, its agent and task class named on every span; `processors` see it, too."""
    resource = Resource({"service.name": "agents"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    recorded = RecordedProvider(*processors, provider=provider)
    said = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": "fixer", "stall.task.class": TASK_CLASS}
    workspace, tokens = Workspace(), 2_000
    with recorded.agent("fixer", conversation=conversation):
        for scene in SCENES:
            for index, call in enumerate(scene.calls):
                compacted = scene.compacted and index == 0
                tokens = 2_500 if compacted else tokens + 900
                turn: dict[str, Any] = {**said, "gen_ai.usage.input_tokens": tokens}
                if compacted:
                    turn["gen_ai.conversation.compacted"] = True
                recorded.chat(f"turn {tokens}", turn)
                answer = getattr(workspace, call.tool)(**call.arguments)
                text, code = answer if isinstance(answer, tuple) else (answer, None)
                exit_code = {} if code is None else {"process.exit.code": code}
                failed = "tool_error" if text.startswith("Error") else ""
                recorded.tool(call.tool, dict(call.arguments), text, error=failed, attributes={**said, **exit_code})
    return recorded.spans()


def forgetful(conversation: str) -> list[Any]:
    """Return the run of a `researcher` that reads twenty files, and after a compaction all of them again."""
    provider = TracerProvider(resource=Resource({"service.name": "agents"}), shutdown_on_exit=False)
    recorded = RecordedProvider(provider=provider)
    said: dict[str, Any] = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": "researcher"}
    with recorded.agent("researcher", conversation=conversation):
        for lap in range(2):
            if lap:
                recorded.chat("where was I", {**said, "gen_ai.conversation.compacted": True})
            for number in range(20):
                text = f"def f{number}(): return {number}"
                recorded.tool("read_file", {"path": f"f{number}.py"}, text, attributes=said)
    return recorded.spans()

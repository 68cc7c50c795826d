"""Every `stall.*` name that otel-stall reads or writes, each with its meaning.

No name is a prefix of another, so that backends which nest by dots keep them apart. Names of other
conventions (`gen_ai.*`, `openinference.*`, …) belong to the dialects that read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["REGISTRY", "Name", "names"]

Use = Literal["read", "written", "both", "event", "metric"]


@dataclass(frozen=True, slots=True)
class Name:
    """One entry of the registry: its key, type (or unit, for metrics), who uses it and what it means."""

    key: str
    type: str
    use: Use
    meaning: str


REGISTRY: Final[list[Name]] = []


def _register(key: str, kind: str, use: Use, meaning: str) -> str:
    REGISTRY.append(Name(key, kind, use, meaning))
    return key


def names(use: Use) -> list[Name]:
    """Return the registry's entries of one use, in order of registration."""
    return [name for name in REGISTRY if name.use == use]


# Read: hints that only a host can give. On the tool span, the resource, baggage or a timestamped event.
MILESTONE_NAME: Final = _register(
    "stall.milestone.name", "string", "read", "The host names a milestone; a name counts once per run."
)
MILESTONE_EVIDENCE: Final = _register(
    "stall.milestone.evidence",
    "string",
    "read",
    "`observed` or `irreversible`: verified by the host; `declared`: the model says so, recorded only.",
)
STATE_BEFORE: Final = _register(
    "stall.state.before", "string", "read", "Digest of the resource or world before the call."
)
STATE_AFTER: Final = _register(
    "stall.state.after", "string", "read", "Digest after the call; equal to the one before = nothing changed."
)
CONTENT_DIGEST: Final = _register(
    "stall.content.digest", "string", "read", "Digest of the whole resource a read came from."
)
RESOURCE: Final = _register(
    "stall.resource", "string", "read", "Identity of the resource the call works on, where not inferable."
)
EFFECT: Final = _register(
    "stall.effect", "string", "read", "What the call can do, where the tool's name does not tell."
)
WAIT_ON: Final = _register("stall.wait.on", "string", "read", "The agent waits for this on purpose.")
INFRA: Final = _register(
    "stall.infra", "bool", "read", "The failure is the infrastructure's: rate limit, provider, network."
)
RUN_ID: Final = _register("stall.run.id", "string", "read", "A new value starts a fresh run.")
RUN_OUTCOME: Final = _register(
    "stall.run.outcome", "string", "read", "`success`, `failure` or `unknown`; for calibration."
)
TASK_ID: Final = _register("stall.task.id", "string", "read", "Which task the run works on; for calibration.")
TASK_CLASS: Final = _register("stall.task.class", "string", "read", "Which class of task; for calibration.")
COMPACTION: Final = _register("stall.compaction", "bool", "read", "The host compacted the context here.")

# Written on every counted tool span.
STEP: Final = _register("stall.step", "int", "written", "Number of the step in its lane, from 1.")
GAIN_TYPE: Final = _register(
    "stall.gain.type",
    "string",
    "written",
    "What the step brought: milestone, verification, state, information, none, or neutral.",
)
STEPS_SINCE_MILESTONE: Final = _register(
    "stall.steps_since_milestone", "int", "written", "Steps since the last verified milestone."
)
STEPS_SINCE_GAIN: Final = _register(
    "stall.steps_since_gain", "int", "written", "Steps with gain `none` since the last gain."
)
DETECTED: Final = _register(
    "stall.detected",
    "bool",
    "written",
    "True on every step inside a stall: the one attribute a sampler needs.",
)
GAIN_REASON: Final = _register("stall.gain.reason", "string", "written", "Why the gain is what it is.")
MILESTONE_COUNT: Final = _register("stall.milestone.count", "int", "written", "Verified milestones so far.")
STATE_CHANGES: Final = _register("stall.state_changes", "int", "written", "New, deduplicated state changes so far.")
CALL_FINGERPRINT: Final = _register(
    "stall.call.fingerprint", "string", "written", "Fingerprint of tool and arguments, 16 hex digits."
)
OUTCOME_FINGERPRINT: Final = _register(
    "stall.outcome.fingerprint", "string", "written", "Fingerprint of the outcome, 16 hex digits."
)
CONTEXT_EPOCH: Final = _register("stall.context.epoch", "int", "written", "Context compactions so far.")
KIND: Final = _register("stall.kind", "string", "written", "Inside a stall: loop, no_gradient or amnesia.")
LEVEL: Final = _register("stall.level", "string", "written", "Inside a stall: notice, replan, ask_user or abandon.")
FIRST_STEP: Final = _register("stall.first_step", "int", "written", "Inside a stall: its first step.")
EVIDENCE: Final = _register(
    "stall.evidence", "string[]", "written", "Inside a stall: what a person can check, at most 8 sentences."
)

# Written on the open span of an agent, beside the stall it was in and the milestones.
STEPS: Final = _register(
    "stall.steps", "int", "written", "On the span of an agent alone: the steps of this invocation so far."
)

# Events.
EVENT_STARTED: Final = _register("stall.started", "INFO", "event", "A stall opened at this step.")
EVENT_ESCALATED: Final = _register(
    "stall.escalated", "WARN, ERROR above replan", "event", "A stall reached a higher level at this step."
)
EVENT_ENDED: Final = _register("stall.ended", "INFO", "event", "A stall closed; `stall.end.reason` says by what.")
EVENT_MILESTONE: Final = _register(
    "stall.milestone_reached", "INFO", "event", "A milestone; carries its evidence, and the segment's length."
)
EVENT_COMPACTED: Final = _register(
    "stall.context_compacted", "DEBUG", "event", "The context was compacted; a new epoch begins."
)
EVENT_ABANDONED: Final = _register(
    "stall.abandoned",
    "WARN",
    "event",
    "A pressure adapter stopped the run and kept its milestones; the body is the record as JSON.",
)
EVENT_SILENT: Final = _register(
    "stall.silent", "WARN", "event", "A tool call has not ended, or an agent made no step, for longer than usual."
)
END_REASON: Final = _register(
    "stall.end.reason",
    "string",
    "both",
    "Why a stall ended: gain, milestone, user_turn, run_boundary, renamed or abandoned.",
)
KEPT_MILESTONES: Final = _register(
    "stall.kept.milestones", "string[]", "both", "On stall.abandoned: what was reached and stands, each with its step."
)
RETURN_STEP: Final = _register(
    "stall.return.step", "int", "both", "On stall.abandoned: the step of the last milestone that stands."
)
RETURN_TRACE: Final = _register(
    "stall.return.trace_id", "string", "both", "On stall.abandoned: the trace that this step is in."
)
SILENCE_REASON: Final = _register(
    "stall.silence.reason", "string", "both", "On stall.silent: `hung_call` or `no_step`."
)
SILENCE_SECONDS: Final = _register("stall.silence.seconds", "int", "both", "On stall.silent: for how long.")
CONTEXT_INFERRED: Final = _register(
    "stall.context.inferred", "bool", "both", "On stall.context_compacted: told by token counts, not by the host."
)
MILESTONE_DECLARED: Final = _register(
    "stall.milestone.declared",
    "string[]",
    "both",
    "On stall.milestone_reached: declared milestones that this one verifies.",
)
SEGMENT_LENGTH: Final = _register("stall.segment.length", "int", "both", "Steps since the last verified milestone.")

# Metrics. Agent and task class are attributes of most of them, capped in number; a conversation never is.
METRIC_STEPS: Final = _register("stall.steps", "counter, {step}", "metric", "Steps, by gain type.")
METRIC_STARTS: Final = _register("stall.starts", "counter, {stall}", "metric", "Stalls that opened, by kind.")
METRIC_STALLED_STEPS: Final = _register(
    "stall.stalled_steps", "counter, {step}", "metric", "Steps inside a stall, by kind and level."
)
METRIC_STALLED_TOKENS: Final = _register(
    "stall.stalled_tokens", "counter, {token}", "metric", "Tokens of model turns inside a stall, by kind and level."
)
METRIC_SEGMENT_LENGTH: Final = _register(
    "stall.segment.length", "histogram, {step}", "metric", "Steps between two milestones."
)
METRIC_DURATION: Final = _register(
    "stall.duration", "histogram, {step}", "metric", "Steps of a stall that closed, by kind and highest level."
)
METRIC_ACTIVE: Final = _register(
    "stall.active", "gauge, {conversation}", "metric", "Conversations that are inside a stall now."
)
METRIC_CONVERSATIONS: Final = _register(
    "stall.conversations", "gauge, {conversation}", "metric", "Conversations remembered now."
)
METRIC_PROCESSOR_DURATION: Final = _register(
    "stall.processor.duration", "histogram, s", "metric", "Time that judging a span took, of those with a verdict."
)
METRIC_PROCESSOR_ERRORS: Final = _register(
    "stall.processor.errors", "counter, {error}", "metric", "Internal errors; each left one span untouched."
)
METRIC_PROCESSOR_SKIPPED: Final = _register(
    "stall.processor.skipped",
    "counter, {span}",
    "metric",
    "Spans passed untouched, starts and milestones passed over, to keep the host from waiting.",
)
METRIC_PROCESSOR_FORGOTTEN: Final = _register(
    "stall.processor.forgotten",
    "counter, {entry}",
    "metric",
    "What fell out of a full memory, by `memory`: `open_spans`, `stamps`, `marks` should not, others do in a long run.",
)
METRIC_EVICTIONS: Final = _register(
    "stall.evictions", "counter, {conversation}", "metric", "Lanes of conversations that fell out of memory."
)
METRIC_LATE_STEPS: Final = _register(
    "stall.late_steps", "counter, {step}", "metric", "Steps that arrived after one that ended later."
)

# Metrics of the gateway.
METRIC_GATEWAY_REQUESTS: Final = _register(
    "stall.gateway.requests", "counter, {request}", "metric", "Requests received, by signal and outcome."
)
METRIC_GATEWAY_ITEMS: Final = _register(
    "stall.gateway.items", "counter, {item}", "metric", "Spans and log records of accepted requests, by signal."
)
METRIC_GATEWAY_DURATION: Final = _register(
    "stall.gateway.duration", "histogram, s", "metric", "Time from a request to its answer, by signal."
)
METRIC_GATEWAY_UNSENT: Final = _register(
    "stall.gateway.unsent", "counter, {request}", "metric", "Own requests that the downstream refused for good."
)
METRIC_GATEWAY_UNSAVED: Final = _register(
    "stall.gateway.unsaved", "counter, {save}", "metric", "Saves of the state that failed; each was tried again."
)

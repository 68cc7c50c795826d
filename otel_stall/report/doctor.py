"""The examination for a person, the answer first; and as one JSON object for programs.

The text is plain and the same for the same traces; names and ids in it are safe for a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from otel_stall.calls import Capture
from otel_stall.doctor import Ability, Advice, Examination, LeftOut, Scope
from otel_stall.passed_over import Kind
from otel_stall.report.numbers import counted, percent
from otel_stall.report.parts import headed, listed, problem_lines
from otel_stall.report.printable import printable

if TYPE_CHECKING:
    from otel_stall.readers import Problems

__all__ = ["SCHEMA", "document", "render"]

SCHEMA: Final = 1
"""Version of the JSON document; a change that breaks readers raises it."""

_LISTED: Final = 20
_LIMITS: Final = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT larger, or not set"
_CONVERSATION: Final = "gen_ai.conversation.id or session.id on the agent's span, or in baggage"
_CONTENTS: Final = "gen_ai.tool.call.arguments and gen_ai.tool.call.result on its tool spans; it has no known switch"
_HOW: Final = {Capture.ABSENT: "not recorded", Capture.REDACTED: "redacted", Capture.TRUNCATED: "cut by a length limit"}


def render(found: Examination, problems: Problems) -> str:
    """Return the examination as text."""
    parts = (
        _answer(found),
        headed("Switch on:", _switches(found.advice)),
        headed("Signals of these hosts that are not here:", _silent(found)),
        headed("Name the conversation; without a name each trace counts as one:", _unnamed(found.advice)),
        headed("In the calls:", _of_calls(found)),
        headed("Beside the calls:", _beside(found)),
        headed("By instrumentation:", _scopes(found.scopes)),
        headed("Written twice, counted once:", _doubles(found)),
        headed("Left out:", _left_out(found.left_out)),
        headed("Problems:", problem_lines(problems)),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def document(found: Examination, problems: Problems) -> str:
    """Return the examination as JSON text, in ASCII."""
    plain = asdict(found)
    lists = {key: plain.pop(key) for key in ("calls", "turns", "scopes", "left_out", "doubles", "advice", "silent")}
    for left in lists["left_out"]:
        left.update(zip(("kind", "reason", "dialect"), left.pop("sort"), strict=True))
    whole = {"schema": SCHEMA, "ability": found.ability.value, **plain, **lists, "problems": listed(problems)}
    return json.dumps(whole, indent=2) + "\n"


def _answer(found: Examination) -> list[str]:
    calls = found.calls
    logs = f" and {counted(found.logs, 'log record')}" if found.logs else ""
    where = f"in {counted(found.conversations, 'conversation')} of {counted(found.spans, 'span')}{logs}"
    if not calls.calls:
        return [f"otel-stall cannot judge these traces: no tool call was found {where}.", *_why_none(found)]
    made = f"{counted(calls.calls, 'tool call')} {where}"
    if found.ability is Ability.YES:
        short = calls.calls - min(calls.arguments, calls.results)
        content = f"arguments and results on all but {short:,}" if short else "arguments and results on all"
        return [f"otel-stall can judge these traces: {made}, {content}."]
    has = f"{_of(calls.arguments, calls.calls)} have arguments, {_of(calls.results, calls.calls)} a result"
    if found.ability is Ability.NO:
        return [f"otel-stall cannot judge these traces: {made}, and neither arguments nor results on any."]
    lines = [f"otel-stall can judge these traces in part: {made}; {has}."]
    if not calls.results:
        lines.append("Without results only the same call over and over can be told, and that stays at notice.")
    return lines


def _why_none(found: Examination) -> Iterator[str]:
    if found.calls.pending:
        pending = found.calls.pending
        wait = "waits" if pending == 1 else "wait"
        yield f"{counted(pending, 'call')} {wait} for an approval; a call counts when it is made."
    elif found.silent:
        yield "These hosts write their calls into signals that are not here."
    elif found.turns.turns:
        yield "The models are traced and the tools are not: add an instrumentation of the agent framework."
    elif any(left.sort.dialect == "mcp" for left in found.left_out):
        yield "These are the spans of an MCP server or client: trace the agent that calls it."
    elif not found.spans:
        yield "There is not one span."
    else:
        yield "Add an instrumentation of the agent framework, or write spans by the GenAI conventions."


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def _switches(advice: Sequence[Advice]) -> Iterator[str]:
    """Yield what to set for each instrumentation, and below it what for."""
    told: dict[tuple[str, str], list[Advice]] = {}
    for each in advice:
        if each.missing != "conversation":
            switch = _LIMITS if each.capture is Capture.TRUNCATED else each.switch or _CONTENTS
            told.setdefault((each.scope, switch), []).append(each)
    for (scope, switch), group in list(told.items())[:_LISTED]:
        yield f"{_name(scope)}: {printable(switch)}"
        yield f"  {', '.join(f'{each.missing} {_HOW[each.capture]} on {_calls_of(each)}' for each in group)}"


def _silent(found: Examination) -> Iterator[str]:
    for each in found.silent:
        yield f"{each.host}, {each.signal}: {printable(each.switch)}"
        yield f"  {each.lost}"


def _unnamed(advice: Sequence[Advice]) -> Iterator[str]:
    unnamed = [each for each in advice if each.missing == "conversation"]
    for each in unnamed[:_LISTED]:
        yield f"{_name(each.scope)}: {printable(each.switch or _CONVERSATION)}"
        yield f"  {_calls_of(each)}"


def _calls_of(advice: Advice) -> str:
    return f"{_of(advice.calls, advice.of)} call{'' if advice.of == 1 else 's'}"


def _of_calls(found: Examination) -> Iterator[str]:
    calls = found.calls
    if not calls.calls:
        return
    yield f"arguments       {_of(calls.arguments, calls.calls)}"
    alone = f", {calls.failures:,} of them a failure without content" if calls.failures else ""
    yield f"results         {_of(calls.results, calls.calls)}{alone}"
    codes = f"on {_of(calls.exit_codes, calls.commands)} commands" if calls.commands else "no command among the calls"
    yield f"exit codes      {codes}"
    yield f"call ids        {_of(calls.call_ids, calls.calls)}"
    yield f"conversation    {_of(calls.named, calls.calls)} in one that is named"
    yield f"agent           {_of(calls.agents, calls.calls)} of one that is named"
    if calls.pending:
        yield f"waiting         {counted(calls.pending, 'more call')} for an approval, not counted"


def _beside(found: Examination) -> Iterator[str]:
    turns = found.turns
    if turns.turns:
        yield f"model turns     {turns.turns:,}: {_of(turns.input_tokens, turns.turns)} tell their tokens"
        said, spoke = _of(turns.texts, turns.turns), _of(turns.user_messages, turns.turns)
        yield f"                {said} what was said, {spoke} who spoke before"
    else:
        yield "model turns     none: no tokens, no turns of the user, no repeated answers"
    if found.people:
        yield f"people          {counted(found.people, 'turn')} of the user, by the host's word"
    if found.signs:
        yield f"host's signs    {counted(found.signs, 'sign')} of a stall: evidence beside ours, no verdict"
    if found.compactions:
        yield f"compactions     {found.compactions:,}"
    else:
        yield "compactions     no signal: amnesia cannot be told; a host can set stall.compaction"
    if found.unsampled:
        yield f"sampling        {counted(found.unsampled, 'span')} not sampled: counts are lower bounds"
    if found.headless:
        yield f"incomplete      {counted(found.headless, 'trace')} without the parent of some span"
    if found.judged:
        yield f"judged before   {counted(found.judged, 'span')} with stall.* attributes; analyze judges anew"


def _scopes(scopes: Sequence[Scope]) -> Iterator[str]:
    for scope in scopes[:_LISTED]:
        yield f"{_name(scope.scope)} ({', '.join(scope.dialects)})"
        if scope.calls.calls + scope.calls.pending:
            yield f"  {_tool_spans(scope)}"
        beside = [
            counted(count, noun)
            for count, noun in (
                (scope.turns.turns, "model turn"),
                (scope.agent_spans, "agent span"),
                (scope.compactions, "compaction"),
            )
            if count
        ]
        if beside:
            tokens = f"; tokens {_share(scope.turns.input_tokens, scope.turns.turns)}" if scope.turns.turns else ""
            yield f"  {', '.join(beside)}{tokens}"
    if len(scopes) > _LISTED:
        yield f"and {len(scopes) - _LISTED} more; --format json lists them all"


def _tool_spans(scope: Scope) -> str:
    calls = scope.calls
    spans = calls.calls + calls.pending
    shares = [
        f"arguments {_captured(scope.arguments, spans)}",
        f"results {_captured(scope.results, spans)}",
        *([f"exit codes {_share(calls.exit_codes, calls.commands)}"] if calls.commands else []),
        *(
            [
                f"call ids {_share(calls.call_ids, calls.calls)}",
                f"conversation {_share(calls.named, calls.calls)}",
                f"agent {_share(calls.agents, calls.calls)}",
            ]
            if calls.calls
            else []
        ),
    ]
    return f"{counted(spans, 'tool span')}: {', '.join(shares)}"


def _captured(counts: Mapping[Capture, int], spans: int) -> str:
    """Return the share that was captured, and of the others how many were redacted or cut."""
    spoilt = [f"{counts[c]:,} {c.value}" for c in (Capture.REDACTED, Capture.TRUNCATED) if counts.get(c)]
    return _share(counts.get(Capture.CAPTURED, 0), spans) + (f" ({', '.join(spoilt)})" if spoilt else "")


def _share(part: int, whole: int) -> str:
    return percent(part / whole)


def _doubles(found: Examination) -> Iterator[str]:
    for double in found.doubles:
        yield f"{counted(double.calls, 'call')} by {_name(double.carrier)} and by {_name(double.other)}"


def _left_out(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield what might have been a call first, then what is known to be none."""
    order = {Kind.UNKNOWN: 0, Kind.OTHER_WORK: 1, Kind.AGAIN: 2}
    for left in sorted(left_out, key=lambda each: order[each.sort.kind])[:_LISTED]:
        names = ", ".join(printable(name, 60) for name in left.names)
        kind = "not known: " if left.sort.kind is Kind.UNKNOWN else ""
        yield f"{counted(left.spans, 'span')} of {_name(left.scope)}, {kind}{printable(left.sort.reason)} ({names})"
    if len(left_out) > _LISTED:
        yield f"and {len(left_out) - _LISTED} more sorts of spans"


def _name(scope: str) -> str:
    return printable(scope) or "a scope without name"

"""Observations from readings: raw contents in, fingerprints out; nothing raw leaves this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_stall import commands, effects, outcomes
from otel_stall.calls import (
    NO_HINTS,
    Capture,
    CompactionMark,
    Content,
    Hints,
    HostHint,
    ModelCall,
    Reading,
    ToolCall,
    UserMark,
)
from otel_stall.checks import check_outcome
from otel_stall.effects import Nature, argument
from otel_stall.fingerprints import (
    canonical,
    combine,
    digest,
    fold_error,
    outcome,
    outcome_digest,
    trigrams,
    unordered,
    words,
)
from otel_stall.observations import (
    NO_LINES,
    NO_WRITING,
    CheckOutcome,
    Compaction,
    Effect,
    HostSign,
    ModelTurn,
    Observation,
    Signs,
    Step,
    UserTurn,
    Writing,
)
from otel_stall.rulings import NO_RULINGS, Rulings

__all__ = ["observation", "step"]

_MAX_NAME = 120
_SHORT = 300
_DENIED = digest("denied")


def observation(reading: Reading, rulings: Rulings = NO_RULINGS) -> Observation | None:
    """Return what the fold takes of a reading, or None where it holds nothing for the fold."""
    record = reading.record
    if isinstance(record, ToolCall):
        return step(record, rulings)
    if isinstance(record, ModelCall):
        return _model_turn(record)
    if isinstance(record, CompactionMark):
        return Compaction(record.source, futile=_futile(record)) if _compacted(record) else None
    if isinstance(record, UserMark):
        return UserTurn()
    if isinstance(record, HostHint):
        return HostSign(record.sign, digest(record.digest) if record.digest else None)
    return None


def _model_turn(call: ModelCall) -> ModelTurn:
    said = " ".join(call.text.split())
    return ModelTurn(
        text=digest(said) if said else None,
        calls_tools=call.calls_tools,
        user_messages=call.user_messages,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        compacted=call.compacted,
        expects_call=call.traced and call.calls_tools,
    )


def _compacted(mark: CompactionMark) -> bool:
    """A sliding window reports itself before every request; only a real cut is a compaction.

    0.6 is the share of the context left from which re-reading is to be expected.
    """
    if mark.size_before and mark.size_after is not None and not mark.certain:
        return mark.size_after < 0.6 * mark.size_before
    return True


def _futile(mark: CompactionMark) -> bool:
    """Return whether a compaction freed less than a tenth: such a host compacts again at once."""
    return bool(mark.size_before) and mark.size_after is not None and mark.size_after > 0.9 * (mark.size_before or 0)


def step(call: ToolCall, rulings: Rulings = NO_RULINGS) -> Step:
    """Return the step of a tool call: effect, outcome and fingerprints. Never raises; linear in the content."""
    kind = effects.nature(call, rulings)
    result = call.result
    text = outcomes.result_text(result.value) if result.capture is Capture.CAPTURED else ""
    exit_code = _exit_code(call, text)
    failed = _failed(call, kind, text, exit_code)
    captured = result.capture is Capture.CAPTURED
    exact = digest(text) if captured else None
    same, lines = outcome(text, exact) if captured else (None, NO_LINES)
    if call.denied:
        same = _DENIED
    if captured and kind.effect is Effect.SEARCH:
        same = outcome_digest(unordered(text))
    empty = captured and not failed and outcomes.is_empty(text)
    asked = _asked(call.arguments) if empty or kind.retrieval else []
    return Step(
        tool=call.tool[:_MAX_NAME],
        effect=kind.effect,
        command=_command(call, kind),
        act=_act(call, kind),
        signature=_signature(call, kind, text),
        outcome=same,
        exact=exact,
        arguments=call.arguments.capture,
        result=result.capture,
        failed=failed,
        exit_code=exit_code,
        empty=empty,
        zero_length=captured and (not text or text.isspace()),
        error=_failure(call, text, captured=captured) if failed else None,
        lines=lines,
        check=_check(kind, call, text, failed=failed, exit_code=exit_code) if captured else None,
        resource=_resource(call, kind),
        window=_window(call, kind),
        mutates=kind.effect.mutates() or bool(kind.shell and kind.shell.mutates),
        writing=_writing(call, kind),
        signs=_signs(call, kind, text, failed=failed),
        retrieval=kind.retrieval,
        query=frozenset(map(digest, asked)),
        asked=trigrams(asked) if kind.retrieval else frozenset(),
        words=trigrams(words(text)) if kind.retrieval else frozenset(),
        pending=call.pending,
        call_id=call.call_id[:_MAX_NAME],
        hints=_kept(call.hints),
        denied=call.denied,
    )


def _command(call: ToolCall, kind: Nature) -> str:
    tool = call.tool[:_MAX_NAME]
    return f"{tool}:{kind.shell.shown}" if kind.shell and kind.shell.shown else tool


def _act(call: ToolCall, kind: Nature) -> int:
    return combine(call.tool, kind.shell.name if kind.shell else "")


def _signature(call: ToolCall, kind: Nature, text: str) -> int | None:
    """Return the digest of tool and arguments; a tool that does not exist is the same call whatever it is given.

    A shell command counts as what it runs: quoting, spacing and `bash -lc` around it make no other call.
    """
    if call.arguments.capture is not Capture.CAPTURED:
        return None
    if text and outcomes.says_absent(text):
        return combine(call.tool)
    arguments = call.arguments.value
    if kind.shell is None:
        return combine(call.tool, canonical(arguments))
    line = effects.command_line(arguments)
    others = {key: value for key, value in arguments.items() if value != line} if isinstance(arguments, Mapping) else {}
    whole = digest(line) if len(line) > commands.MAX_COMMAND else kind.shell.document
    return combine(call.tool, kind.shell.normal, whole, canonical(others))


def _kept(hints: Hints) -> Hints:
    """Return hints as they may be kept: of all but the milestone's name only whether they are equal matters."""
    if hints is NO_HINTS:
        return hints
    return replace(
        hints,
        state_before=_compared(hints.state_before),
        state_after=_compared(hints.state_after),
        content_digest=_compared(hints.content_digest),
        resource=_compared(hints.resource),
        wait_on=_compared(hints.wait_on),
        effect="",
    )


def _compared(said: str) -> str:
    return f"{digest(said):016x}" if said else ""


def _exit_code(call: ToolCall, text: str) -> int | None:
    if call.exit_code is not None:
        return call.exit_code
    return outcomes.exit_code_in(text) if text else None


def _failed(call: ToolCall, kind: Nature, text: str, exit_code: int | None) -> bool:
    if call.settled or not call.exit_tells:
        exit_code = None
    if exit_code == 1 and kind.shell is not None and kind.effect is Effect.SEARCH and outcomes.is_empty(text):
        return False
    if call.failed or call.settled:
        return bool(call.failed)
    if exit_code:
        return not (exit_code == 1 and kind.effect is Effect.SEARCH and outcomes.is_empty(text))
    if exit_code == 0 and kind.shell is not None:
        return bool(text) and outcomes.is_refusal(text)
    shows_contents = kind.effect in (Effect.READ, Effect.SEARCH) and kind.shell is None and len(text) > 400
    return bool(text) and not shows_contents and outcomes.says_failed(text, writes=kind.effect is Effect.WRITE)


def _failure(call: ToolCall, text: str, *, captured: bool) -> int | None:
    """Return the digest of what a failure says, None where it says nothing; all refusals of a call are one."""
    if call.denied:
        return _DENIED
    if not captured and not call.error_message:
        return None
    return fold_error(outcomes.error_line(text or call.error_message))


def _check(kind: Nature, call: ToolCall, text: str, *, failed: bool, exit_code: int | None) -> CheckOutcome | None:
    if kind.effect is not Effect.CHECK or (failed and outcomes.is_missing(text) and len(text) < _SHORT):
        return None
    identity = (kind.shell.check if kind.shell else "") or call.tool
    return check_outcome(identity, text, failed=failed, exit_code=exit_code)


def _resource(call: ToolCall, kind: Nature) -> int | None:
    if call.hints.resource:
        return digest(call.hints.resource)
    return digest(kind.path.removeprefix("./")) if kind.path else None


_TO_THE_END = 10**9
_OFFSETS = ("offset", "start_line", "line_start", "start", "from_line", "begin_line")
_LIMITS = ("limit", "count", "num_lines", "lines", "length")
_ENDS = ("end_line", "line_end", "end", "to_line")
_RANGED = frozenset({*_OFFSETS, *_LIMITS, *_ENDS})


def _window(call: ToolCall, kind: Nature) -> tuple[int, int] | None:
    """Return the first and last line a read asks for, None where it asks for no range."""
    if kind.effect is not Effect.READ:
        return None
    if kind.shell is not None:
        return kind.shell.lines
    arguments = call.arguments.value
    if not isinstance(arguments, Mapping):
        return None
    both = arguments.get("view_range") or arguments.get("line_range") or arguments.get("range")
    if isinstance(both, Sequence) and len(both) == 2 and all(isinstance(end, int) for end in both):
        begin, end = map(_line, both)
        return begin, end if end >= begin else _TO_THE_END
    if _RANGED.isdisjoint(arguments):
        return None
    first, size, last = (_number(arguments, keys) for keys in (_OFFSETS, _LIMITS, _ENDS))
    if first is None and size is None and last is None:
        return None
    start = first if first is not None else 1
    return start, last if last is not None else start + size - 1 if size is not None else _TO_THE_END


def _number(arguments: Mapping[str, object], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return _line(value)
    return None


def _line(number: int) -> int:
    """Return the number of a line, at most that which stands for the end: a host may send any integer."""
    return max(-_TO_THE_END, min(int(number), _TO_THE_END))


def _writing(call: ToolCall, kind: Nature) -> Writing:
    if not (kind.effect.mutates() or kind.effect is Effect.NOTE or (kind.shell and kind.shell.mutates)):
        return NO_WRITING
    arguments = call.arguments.value
    old = argument(arguments, effects.OLD_KEYS)
    new = argument(arguments, effects.NEW_KEYS)
    if kind.shell is not None:
        content = kind.shell.document or ""
    else:
        content = argument(arguments, effects.CONTENT_KEYS) or argument(arguments, effects.PATCH_KEYS)
    return Writing(
        content=digest(content or new) if content or new else None,
        old=digest(old) if old else None,
        new=digest(new) if old else None,
        edit=bool(old),
        removes=bool(kind.shell and kind.shell.removes),
        reverts=bool(kind.shell and kind.shell.reverts),
        aside=kind.aside or bool(kind.shell and kind.shell.derived),
    )


_ABOUT_KEYS = ("query", "q", "prompt", "task_id", "id")
_GARBLED = (":", "}", ",", "]", ">")


def _is_garbled(call: ToolCall, kind: Nature) -> bool:
    """Return whether what the call is about begins with punctuation, as where a template leaked into it."""
    if call.arguments.capture is not Capture.CAPTURED:
        return False
    if kind.shell is not None:
        return kind.shell.garbled
    return (kind.path or argument(call.arguments.value, _ABOUT_KEYS)).startswith(_GARBLED)


def _signs(call: ToolCall, kind: Nature, text: str, *, failed: bool) -> Signs:
    shell = kind.shell
    return Signs(
        noop=bool(shell and shell.noop and call.arguments.capture is Capture.CAPTURED),
        malformed=_is_garbled(call, kind) or (failed and kind.effect is not Effect.CHECK and outcomes.is_refusal(text)),
        unchanged=bool(text) and outcomes.is_unchanged(text, shell=shell is not None),
        running=kind.polls and outcomes.says_running(text),
        done=kind.declares_done or _todo_done(call.arguments.value, kind),
        commits=bool(shell and shell.commits),
        acknowledged=outcomes.is_acknowledgement(text),
        missing=failed and outcomes.is_missing(text),
    )


def _todo_done(arguments: object, kind: Nature) -> bool:
    """Return whether a to-do list of two items or more is all ticked."""
    if kind.effect is not Effect.NOTE or not isinstance(arguments, Mapping):
        return False
    for key in ("todos", "items", "plan", "tasks", "steps"):
        items = arguments.get(key)
        if isinstance(items, Sequence) and not isinstance(items, str) and len(items) >= 2:
            states = [item.get("status") for item in items if isinstance(item, Mapping)]
            return len(states) == len(items) and all(state in ("completed", "done", "complete") for state in states)
    return False


def _asked(arguments: Content) -> list[str]:
    """Return the words a call asks with."""
    if arguments.capture is not Capture.CAPTURED:
        return []
    value = arguments.value
    text = value if isinstance(value, str) else argument(value, effects.QUERY_KEYS) or canonical(value)
    return words(text, 80)

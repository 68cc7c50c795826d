"""The fold: one observation into one lane, and the verdict. Live, in the gateway and offline the same.

`fold` is deterministic: equal lanes and equal observations give equal lanes and equal verdicts, whatever
the clock, the process or the order of other lanes.
"""

from __future__ import annotations

from collections.abc import Iterable

from otel_stall.config import StallConfig
from otel_stall.conversations import Lane, Turn
from otel_stall.counters import Counters, advance, after_user_turn, idle_turn, reacquire
from otel_stall.facts import Facts, facts_of
from otel_stall.fingerprints import combine
from otel_stall.gains import reason_of
from otel_stall.learning import learn
from otel_stall.ledger import Ledger
from otel_stall.loops import InputSide, LoopRun, extend_loop, go_round, observe_inputs
from otel_stall.milestones import PENDING, confirmed, declared_milestone, kept, milestone_of
from otel_stall.observations import (
    Compaction,
    GhostCall,
    HostMilestone,
    HostSign,
    ModelTurn,
    Observation,
    RunBoundary,
    Step,
    UserTurn,
)
from otel_stall.reasons import TABLE, Reason
from otel_stall.scenes import RECENT, Entry, Scene
from otel_stall.stalls import ClosedStall, OpenStall, close_stall, decide
from otel_stall.values import replace
from otel_stall.verdicts import Change, Changed, Declaration, EndReason, Evidence, Gain, Milestone, Verdict

__all__ = ["fold"]

_MAX_CALL_IDS = 256
_MAX_NAME = 120


def fold(lane: Lane, observation: Observation, config: StallConfig) -> Verdict | None:
    """Change the lane by one observation and return the verdict, None where there is nothing to say.

    A step always has a verdict unless it is no step: a duplicate of one call, or one that waits for an
    approval. Other observations have one only where a stall or a milestone changed.
    """
    verdict = _folded(lane, observation, config)
    if verdict is not None and (verdict.changes or lane.reached):
        lane.reached = kept(lane.reached, observation, verdict)
    return verdict


def _folded(lane: Lane, observation: Observation, config: StallConfig) -> Verdict | None:
    match observation:
        case Step():
            return _step(lane, observation, config)
        case ModelTurn():
            return _model_turn(lane, observation, config)
        case Compaction():
            return _compaction(lane, observation, config)
        case GhostCall():
            return _ghost(lane, config)
        case HostSign():
            return _host_sign(lane, observation, config)
        case UserTurn():
            return _interrupted(lane, EndReason.USER_TURN)
        case RunBoundary():
            return _run_boundary(lane, observation)
        case HostMilestone():
            return _host_milestone(lane, observation, config)


def _step(lane: Lane, step: Step, config: StallConfig) -> Verdict | None:
    if step.pending or _is_duplicate(lane, step):
        return None
    rules, ledger, before = config.detection, lane.ledger, lane.counters
    facts = facts_of(step, ledger, rules)
    reason = reason_of(step, facts, before, rules)
    gain = TABLE[reason].gain
    again = gain is Gain.NONE and _known_from_before(facts, ledger)
    lane.counters = reacquire(advance(before, step, reason, rules, known=facts.recurrence()), again=again, gain=gain)
    number = lane.counters.step
    lane.loop = extend_loop(lane.loop, step, facts, reason, number)
    lane.inputs = observe_inputs(lane.inputs, step, number, rules)
    lane.recent = [*lane.recent, _entry(step, facts, reason, lane, again=again)][-RECENT:]
    reached = _reached(lane, milestone_of(step, reason, number, before.distance + 1), reason)
    declared = _declared(lane, declared_milestone(step, number, before.distance + 1))
    ledger.step = number
    learn(step, facts, ledger, config.bounds)
    lane.turn.stepped, lane.turn.compacted_by = True, ""
    noted = tuple(Changed(Change.MILESTONE_REACHED, number, milestone=m) for m in (reached, declared) if m)
    strong = reached is not None and reached.evidence is Evidence.OBSERVED
    return _verdict(lane, config, reason, step=step, noted=noted, strong=strong)


def _reached(lane: Lane, milestone: Milestone | None, reason: Reason) -> Milestone | None:
    """Return a verified milestone with the declared ones that waited for it; those wait no longer."""
    if milestone is None:
        return None
    milestone, lane.declared = confirmed(milestone, reason, lane.declared)
    return milestone


def _declared(lane: Lane, milestone: Milestone | None) -> Milestone | None:
    """Return a declared milestone, which waits in its lane from now on."""
    if milestone is not None:
        lane.declared = [*lane.declared, Declaration(milestone.step, milestone.name)]
        lane.ledger.evicted += len(lane.declared[:-PENDING])
        lane.declared = lane.declared[-PENDING:]
    return milestone


def _known_from_before(facts: Facts, ledger: Ledger) -> bool:
    since = facts.known_since()
    return since is not None and since < ledger.epoch


def _is_duplicate(lane: Lane, step: Step) -> bool:
    """Return whether this call was seen since the last model turn: a replay by the transport is no act."""
    if not step.call_id:
        return False
    turn, key = lane.turn, combine(step.tool, step.signature)
    if turn.calls.get(step.call_id) == key:
        return True
    turn.calls[step.call_id] = key
    if len(turn.calls) > _MAX_CALL_IDS:
        del turn.calls[next(iter(turn.calls))]
        lane.ledger.evicted += 1
    return False


_EMPTY_ACTS = frozenset({Reason.NO_OPERATION, Reason.MALFORMED_CALL})
"""What does nothing is one and the same act, however it is spelt."""


def _entry(step: Step, facts: Facts, reason: Reason, lane: Lane, *, again: bool) -> Entry:
    idle = reason in _EMPTY_ACTS
    call = combine("idle") if idle else step.signature
    return Entry(
        step=lane.counters.step,
        command=step.command,
        reason=reason,
        call=call,
        repeated=any(entry.call == call for entry in lane.recent) if idle else facts.call_epoch is not None,
        mutates=step.mutates or TABLE[reason].gain is Gain.STATE or reason is Reason.NOTE,
        waits=reason is Reason.WAITING or step.effect.value == "wait" or bool(step.hints.wait_on),
        reacquired=again,
        tokens=lane.tokens,
        effect=step.effect,
    )


def _model_turn(lane: Lane, seen: ModelTurn, config: StallConfig) -> Verdict | None:
    turn = lane.turn
    if seen.input_tokens is not None or seen.output_tokens is not None:
        lane.tokens = (lane.tokens or 0) + (seen.input_tokens or 0) + (seen.output_tokens or 0)
    compacted = seen.compacted and (not turn.compacted or _shrunk(turn, seen))
    spoke = _person_spoke(turn, seen) and not compacted
    repeats = seen.text is not None and seen.text == turn.text and not seen.calls_tools and not turn.stepped
    verdicts = [_interrupted(lane, EndReason.USER_TURN) if spoke else None]
    shrank = _shrank_for_good(lane, seen) and not compacted
    if compacted or shrank:
        verdicts.append(_compaction(lane, _INFERRED if shrank else _IN_TURN, config))
    verdicts.append(_repeated_text(lane, seen.text, config) if repeats and seen.text is not None else None)
    turn.compacted = seen.compacted
    turn.user_messages = seen.user_messages if seen.user_messages is not None else turn.user_messages
    turn.input_tokens = seen.input_tokens if seen.input_tokens is not None else turn.input_tokens
    if seen.text is not None:
        turn.text, turn.stepped = seen.text, False
    turn.calls.clear()
    return _joined(verdict for verdict in verdicts if verdict is not None)


_IN_TURN = Compaction("model")
_INFERRED = Compaction("tokens")
_LARGE = 10_000
"""Input tokens below which no host compacts; chosen, not measured."""
_FOR_GOOD = 2


def _shrank_for_good(lane: Lane, seen: ModelTurn) -> bool:
    """Return whether a lane without any compaction signal read less than half of what it had, twice in a row.

    A single drop is mostly a request beside the agent's own: a title, a summary, a sub-agent.
    """
    turn, tokens = lane.turn, seen.input_tokens
    if tokens is None:
        return False
    turn.small = turn.small + 1 if tokens * 2 < turn.peak_tokens and turn.peak_tokens >= _LARGE else 0
    shrank = turn.small >= _FOR_GOOD
    if shrank:
        turn.small, turn.peak_tokens = 0, tokens
    turn.peak_tokens = max(turn.peak_tokens, tokens)
    return shrank and not turn.told


def _person_spoke(turn: Turn, seen: ModelTurn) -> bool:
    return turn.user_messages is not None and (seen.user_messages or 0) > turn.user_messages


def _shrunk(turn: Turn, seen: ModelTurn) -> bool:
    """Return whether a context that stays marked as compacted was compacted once more: it lost a third."""
    if turn.input_tokens is None or seen.input_tokens is None:
        return False
    return seen.input_tokens < turn.input_tokens * 2 / 3


def _repeated_text(lane: Lane, text: int, config: StallConfig) -> Verdict:
    """A model turn that repeats its text and calls nothing is a step without gain and without number."""
    lane.counters = idle_turn(lane.counters, Reason.REPEATED_TEXT, config.detection)
    lane.loop = go_round(lane.loop, combine("text", text), max(lane.counters.step, 1))
    return _verdict(lane, config, Reason.REPEATED_TEXT)


def _ghost(lane: Lane, config: StallConfig) -> Verdict:
    """A call that the host refused without a trace is a failed step without number: nobody saw what it was."""
    counters = idle_turn(lane.counters, Reason.GHOST_CALL, config.detection)
    lane.counters = replace(counters, distance=counters.distance + 1)
    lane.recent = [*lane.recent, replace(_GHOST, step=max(counters.step, 1), tokens=lane.tokens)][-RECENT:]
    return _verdict(lane, config, Reason.GHOST_CALL)


_GHOST = Entry(
    step=1,
    command="a call that left no trace",
    reason=Reason.GHOST_CALL,
    call=None,
    repeated=False,
    mutates=False,
    waits=False,
    reacquired=False,
    tokens=None,
)


def _compaction(lane: Lane, seen: Compaction, config: StallConfig) -> Verdict | None:
    turn, inferred = lane.turn, seen is _INFERRED
    if _said_again(turn.compacted_by, seen.source):
        return None
    turn.compacted_by, turn.told = seen.source, turn.told or not inferred
    lane.ledger.epoch += 1
    lane.inputs = replace(lane.inputs, compactions=lane.inputs.compactions + 1)
    # One that frees nothing comes again at once: two of them are as much as three others.
    more = 2 if seen.futile else 1
    lane.counters = replace(lane.counters, idle_compactions=lane.counters.idle_compactions + more)
    changed = Changed(Change.CONTEXT_COMPACTED, lane.counters.step, inferred=inferred)
    return _verdict(lane, config, Reason.OUTCOME_UNKNOWN, noted=(changed,))


def _said_again(before: str, source: str) -> bool:
    """Return whether a host tells of one compaction by a second signal of its own, as span and as record."""
    return before != source and ":" in source and before.partition(":")[0] == source.partition(":")[0]


_WORKS = 256
_SIGN_STEPS = 20
_BACK = "the work tree is back at a state it had before"


def _host_sign(lane: Lane, seen: HostSign, config: StallConfig) -> Verdict | None:
    """Take a host's sign as evidence: it opens no stall and closes none."""
    host, sign = lane.host, seen.sign
    if seen.work is not None:
        earlier, last = host.works, host.works[-1:]
        sign = _BACK if seen.work in earlier[:-1] and last != [seen.work] else ""
        host.works = earlier if last == [seen.work] else [*earlier, seen.work][-_WORKS:]
    if not sign:
        return None
    host.sign, host.step = sign[:_SIGN_CHARS], lane.counters.step
    return _verdict(lane, config, Reason.OUTCOME_UNKNOWN) if lane.open is not None else None


_SIGN_CHARS = 60


def _sign_of(lane: Lane) -> str:
    return lane.host.sign if lane.counters.step - lane.host.step <= _SIGN_STEPS else ""


def _interrupted(lane: Lane, reason: EndReason) -> Verdict | None:
    """End the open stall and start the streaks anew; what was seen stays seen."""
    lane.counters = after_user_turn(lane.counters)
    lane.loop, lane.recent, lane.closed = LoopRun(), [], None
    lane.inputs = InputSide(compactions=lane.inputs.compactions, calls=lane.inputs.calls)
    if lane.open is None:
        return None
    _, changed = close_stall(lane.open, reason, lane.counters.step)
    lane.open = None
    return _said(lane, Reason.OUTCOME_UNKNOWN, changed)


def _run_boundary(lane: Lane, boundary: RunBoundary) -> Verdict | None:
    """Start a fresh run: nothing of the last one is known, only the numbering of steps and stalls goes on."""
    ended = _interrupted(lane, EndReason.RUN_BOUNDARY)
    lane.run_id = boundary.run_id
    lane.ledger = Ledger(epoch=lane.ledger.epoch, evicted=lane.ledger.evicted)
    lane.counters = Counters(step=lane.counters.step)
    lane.inputs, lane.turn, lane.declared, lane.reached = InputSide(), Turn(), [], []
    return ended


def _host_milestone(lane: Lane, mark: HostMilestone, config: StallConfig) -> Verdict | None:
    ledger, c = lane.ledger, lane.counters
    evidence = Evidence.told(mark.evidence)
    # What was only declared can still be verified under the same name.
    key = combine("milestone" if evidence.verified else "declared", mark.name)
    if key in ledger.milestones:
        return None
    ledger.milestones[key] = ledger.epoch
    if len(ledger.milestones) > config.bounds.calls:
        del ledger.milestones[next(iter(ledger.milestones))]
        ledger.evicted += 1
    milestone = Milestone(c.step, mark.name[:_MAX_NAME], evidence, c.distance)
    if not evidence.verified:
        _declared(lane, milestone)
    else:
        milestone, lane.declared = confirmed(milestone, Reason.HOST_MILESTONE, lane.declared)
        strong = {"dry": 0, "flat": 0, "waste": 0.0, "reacquired": 0} if evidence is Evidence.OBSERVED else {}
        lane.counters = replace(c, distance=0, milestones=c.milestones + 1, **strong)  # type: ignore[arg-type]  # mixed
    noted = (Changed(Change.MILESTONE_REACHED, c.step, milestone=milestone),)
    return _verdict(lane, config, Reason.HOST_MILESTONE, noted=noted, strong=evidence is Evidence.OBSERVED)


def _verdict(
    lane: Lane,
    config: StallConfig,
    reason: Reason,
    *,
    step: Step | None = None,
    noted: tuple[Changed, ...] = (),
    strong: bool = False,
) -> Verdict:
    scene = Scene(
        counters=lane.counters,
        loop=lane.loop,
        inputs=lane.inputs,
        recent=lane.recent,
        epoch=lane.ledger.epoch,
        tokens=lane.tokens,
        partial=lane.partial,
        milestone=strong,
        stall_count=lane.stall_count,
        distance_limit=config.distance_limit(lane.agent, lane.task_class),
        host_sign=_sign_of(lane),
    )
    known = (lane.open, lane.closed)
    lane.open, lane.closed, changed = decide(scene, lane.open, lane.closed, config.detection)
    if lane.open is not None:
        lane.stall_count = max(lane.stall_count, lane.open.stall.number)
    return _said(lane, reason, (*noted, *changed), step, tokens=_spent(lane.open, known))


def _spent(stalled: OpenStall | None, known: Iterable[OpenStall | ClosedStall | None]) -> int:
    """Return the tokens of a stall that it did not have when it was last told of, open or before its relapse."""
    if stalled is None or stalled.stall.tokens is None:
        return 0
    same = (one.stall for one in known if one is not None and one.stall.number == stalled.stall.number)
    return max(stalled.stall.tokens - max((stall.tokens or 0 for stall in same), default=0), 0)


def _said(
    lane: Lane, reason: Reason, changed: tuple[Changed, ...], step: Step | None = None, *, tokens: int = 0
) -> Verdict:
    c, entry = lane.counters, TABLE[reason]
    if lane.untold:
        changed, lane.untold = (*lane.untold, *changed), []
    return Verdict(
        step=c.step,
        counted=step is not None,
        gain=entry.gain,
        reason=reason.value,
        waste=max(entry.waste, 0.0),
        steps_since_milestone=c.distance,
        steps_since_gain=c.dry,
        milestone_count=c.milestones,
        state_changes=c.state_changes,
        epoch=lane.ledger.epoch,
        call_fingerprint=step.signature if step else None,
        outcome_fingerprint=step.outcome if step else None,
        stall=lane.open.stall if lane.open else None,
        stalled_tokens=tokens,
        changes=changed,
    )


def _joined(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the last verdict with the changes and tokens of all."""
    listed = list(verdicts)
    if not listed:
        return None
    changes = tuple(change for verdict in listed for change in verdict.changes)
    return replace(listed[-1], changes=changes, stalled_tokens=sum(verdict.stalled_tokens for verdict in listed))

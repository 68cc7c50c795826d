"""Rules of `emission`: what a verdict writes on the span and which events it becomes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from otel_stall import attributes as names
from otel_stall.emission import Event, EventLog, Severity, Value, attributes_of, events_of, fingerprint
from otel_stall.observations import Compaction
from otel_stall.summaries import Summary
from otel_stall.verdicts import (
    Change,
    Changed,
    EndReason,
    Evidence,
    Gain,
    Judged,
    Kind,
    Level,
    Milestone,
    Stall,
    Verdict,
)

STALL = Stall(
    number=1,
    kind=Kind.NO_GRADIENT,
    first_step=3,
    detected_step=8,
    last_step=14,
    levels=((Level.NOTICE, 8), (Level.REPLAN, 14)),
    evidence=("6 steps without gain",),
)
VERDICT = Verdict(
    step=14,
    counted=True,
    gain=Gain.NONE,
    reason="same_outcome",
    waste=3.5,
    steps_since_milestone=14,
    steps_since_gain=12,
    milestone_count=0,
    state_changes=2,
    epoch=1,
    call_fingerprint=0xABC,
    outcome_fingerprint=2**64 - 1,
)
JUDGED = Judged(
    conversation="conv-1",
    lane="main",
    agent="coder",
    service="shop",
    trace_id="a" * 32,
    span_id="b" * 16,
    observation=Compaction("test"),
    verdict=VERDICT,
)
COUNTED: dict[str, Value] = {
    "stall.step": 14,
    "stall.gain.type": "none",
    "stall.steps_since_milestone": 14,
    "stall.steps_since_gain": 12,
    "stall.detected": False,
    "stall.gain.reason": "same_outcome",
    "stall.milestone.count": 0,
    "stall.state_changes": 2,
    "stall.context.epoch": 1,
    "stall.call.fingerprint": "0000000000000abc",
    "stall.outcome.fingerprint": "ffffffffffffffff",
}
INSIDE: dict[str, Value] = {
    "stall.kind": "no_gradient",
    "stall.level": "replan",
    "stall.first_step": 3,
    "stall.evidence": ["6 steps without gain"],
}


def judged(*changes: Changed, stall: Stall | None = None) -> Judged:
    return replace(JUDGED, verdict=replace(VERDICT, stall=stall, changes=changes))


class TestAttributes:
    def test_outside_a_stall(self) -> None:
        """A counted step carries its counters and fingerprints, and nothing of a stall."""
        assert attributes_of(JUDGED) == COUNTED

    def test_inside_a_stall(self) -> None:
        """Inside a stall kind, level, first step and evidence join, and detected is true."""
        assert attributes_of(judged(stall=STALL)) == COUNTED | {"stall.detected": True} | INSIDE

    def test_minimal(self) -> None:
        """Outside a stall the five that counters and samplers need; inside one nothing is left out."""
        full = attributes_of(judged())
        assert list(attributes_of(judged(), minimal=True).items()) == list(full.items())[:5]
        assert attributes_of(judged(stall=STALL), minimal=True) == attributes_of(judged(stall=STALL))

    def test_all_are_registered(self) -> None:
        """Every attribute written is in the registry as written, and every such entry is written."""
        registered = {name.key for name in names.names("written")}
        summary = Summary().after(judged(stall=STALL)).attributes()
        assert set(attributes_of(judged(stall=STALL))) | set(summary) == registered

    def test_what_is_no_step_writes_nothing(self) -> None:
        """A verdict on a compaction or a model turn is written on no span."""
        assert attributes_of(replace(JUDGED, verdict=replace(VERDICT, counted=False))) == {}

    def test_unknown_content_has_no_fingerprint(self) -> None:
        """A fingerprint of content that was not captured is left out."""
        unknown = replace(VERDICT, call_fingerprint=None, outcome_fingerprint=None)
        expected = {key: value for key, value in COUNTED.items() if "fingerprint" not in key}
        assert attributes_of(replace(JUDGED, verdict=unknown)) == expected

    def test_evidence_is_bounded(self) -> None:
        """At most eight entries of at most 120 characters, and no lone surrogates, are written."""
        long = replace(STALL, evidence=("x" * 121, "y" * 120, "\ud800") + ("z",) * 9)
        expected = ["x" * 119 + "…", "y" * 120, "?"] + ["z"] * 5
        assert attributes_of(judged(stall=long))["stall.evidence"] == expected


class TestFingerprint:
    def test_without_a_key_it_is_the_digest(self) -> None:
        """The digest as 16 hex digits; a negative one as its two's complement."""
        assert [fingerprint(1), fingerprint(-1)] == ["0000000000000001", "f" * 16]

    @pytest.mark.parametrize("key", ["k", "k" * 100, "ß\ud800"])
    def test_a_key_hides_the_digest(self, key: str) -> None:
        """With a key equal digests stay equal, others differ, and another key gives another token."""
        tokens = [fingerprint(1, key), fingerprint(1, key), fingerprint(2, key), fingerprint(1, key + "x")]
        assert tokens[0] == tokens[1]
        assert len({fingerprint(1), *tokens}) == 4
        assert all(len(token) == 16 for token in tokens)

    def test_both_are_keyed_on_the_span(self) -> None:
        """A configured key applies to the fingerprints of call and outcome."""
        assert attributes_of(JUDGED, "k") == COUNTED | {
            "stall.call.fingerprint": fingerprint(0xABC, "k"),
            "stall.outcome.fingerprint": fingerprint(2**64 - 1, "k"),
        }


WHOSE: dict[str, Value] = {"gen_ai.conversation.id": "conv-1", "gen_ai.agent.name": "coder", "stall.step": 14}


class TestEvents:
    def test_a_stall_opens(self) -> None:
        """An opening is for information and says kind, level, first step and evidence."""
        opened = replace(STALL, levels=((Level.NOTICE, 14),))
        expected = Event("stall.started", Severity.INFO, WHOSE | INSIDE | {"stall.level": "notice"})
        assert events_of(judged(Changed(Change.STARTED, 14, opened))) == [expected]

    @pytest.mark.parametrize(
        ("level", "severity"),
        [(Level.REPLAN, Severity.WARN), (Level.ASK_USER, Severity.ERROR), (Level.ABANDON, Severity.ERROR)],
    )
    def test_a_stall_escalates(self, level: Level, severity: Severity) -> None:
        """Replan warns, the levels above are errors."""
        stall = replace(STALL, levels=((Level.NOTICE, 8), (level, 14)))
        expected = Event("stall.escalated", severity, WHOSE | INSIDE | {"stall.level": level.value})
        assert events_of(judged(Changed(Change.ESCALATED, 14, stall))) == [expected]

    def test_a_stall_ends_by_a_milestone(self) -> None:
        """The end says its reason, the milestone its name, evidence and segment length."""
        ended = replace(STALL, ended=EndReason.MILESTONE)
        milestone = Milestone(14, "tests", Evidence.OBSERVED, 11)
        found = events_of(
            judged(
                Changed(Change.MILESTONE_REACHED, 14, milestone=milestone),
                Changed(Change.ENDED, 14, ended),
            )
        )
        assert found == [
            Event(
                "stall.milestone_reached",
                Severity.INFO,
                WHOSE
                | {
                    "stall.milestone.name": "tests",
                    "stall.milestone.evidence": "observed",
                    "stall.segment.length": 11,
                },
            ),
            Event("stall.ended", Severity.INFO, WHOSE | INSIDE | {"stall.end.reason": "milestone"}),
        ]

    def test_the_context_is_compacted(self) -> None:
        """A compaction is for debugging; without agent or conversation the event names none."""
        nobody = replace(judged(Changed(Change.CONTEXT_COMPACTED, 3)), conversation="", agent="")
        assert events_of(nobody) == [Event("stall.context_compacted", Severity.DEBUG, {"stall.step": 3})]

    def test_all_are_registered(self) -> None:
        """Each change has an event of its own, and the registry lists them all, with those of a host's reaction."""
        found = [event.name for event in events_of(judged(*(Changed(change, 1) for change in Change)))]
        reactions = [names.EVENT_ABANDONED, names.EVENT_SILENT]
        assert [*found, *reactions] == [name.key for name in names.names("event")]


class TestEventLog:
    def test_an_event_is_linked_to_its_span(self) -> None:
        """The record has the event's name, the end time and the ids of the judged span."""
        exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call] # untyped in the SDK
        provider = LoggerProvider()
        provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
        about = judged(Changed(Change.CONTEXT_COMPACTED, 3), Changed(Change.STARTED, 14, STALL))
        EventLog(provider).emit(about, events_of(about), time_ns=7, sampled=True)
        provider.shutdown()
        records = [each.log_record for each in exporter.get_finished_logs()]
        assert [
            (r.event_name, r.timestamp, r.trace_id, r.span_id, r.trace_flags, r.severity_text) for r in records
        ] == [
            (name, 7, int("a" * 32, 16), int("b" * 16, 16), 1, severity)
            for name, severity in (("stall.context_compacted", "DEBUG"), ("stall.started", "INFO"))
        ]
        assert dict(records[1].attributes or {}) == WHOSE | INSIDE | {"stall.evidence": ("6 steps without gain",)}

    def test_without_a_provider_nothing_happens(self) -> None:
        """Where the host set up no logging, emitting is harmless, even for a span without ids."""
        about = replace(judged(Changed(Change.CONTEXT_COMPACTED, 3)), trace_id="", span_id="")
        EventLog().emit(about, events_of(about), time_ns=7, sampled=False)

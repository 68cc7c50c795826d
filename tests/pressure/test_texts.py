"""Rules of `pressure.Texts`: redirect without quoting, in any language."""

from __future__ import annotations

import pytest
from acts import Act, Named, bash, edit, feed, green, numbered, read, readings, red
from pressed import status

from otel_stall.errors import ConfigError
from otel_stall.monitor import Monitor
from otel_stall.observations import Effect
from otel_stall.pressure import ENGLISH, OURS, Texts
from otel_stall.reasons import Reason
from otel_stall.status import Status
from otel_stall.verdicts import Level

SECRET = "s3cr3t_argument"

STUCK: list[Act] = [
    red(),
    edit("a.py", "1", "2"),
    green(),
    Named("part one"),
    read(f"{SECRET}.py", numbered(SECRET)),
    *[read(f"{SECRET}.py", numbered(SECRET)), bash(f"grep {SECRET} a.py", f"{SECRET} line 3 of the file")] * 10,
]


def stuck() -> Status:
    monitor = Monitor()
    feed(monitor, readings(STUCK))
    (found,) = monitor.status("c")
    return found


def test_what_was_tried_and_what_is_known() -> None:
    """By effect and reason with counts, and the milestones that stand with their steps."""
    said = ENGLISH.say(Level.REPLAN, stuck())

    assert "10 x reading" in said
    assert "10 x a long text, unchanged, was read again" in said
    assert "pytest (step 3), part one (step 3)" in said


@pytest.mark.parametrize("level", Level)
def test_nothing_of_a_call_is_quoted(level: Level) -> None:
    """No argument and no result stands in any text: quoting what loops feeds the loop."""
    assert SECRET not in ENGLISH.say(level, stuck())


def test_what_the_model_reads_is_marked_as_ours() -> None:
    """It is nobody's word; what a person reads is plain."""
    assert [ENGLISH.say(level, stuck()).startswith(OURS) for level in Level] == [True, True, False, False]


def test_nothing_reached_is_said_so() -> None:
    """No milestone, no trial known: the text says nothing, in words."""
    assert "still standing: nothing" in ENGLISH.say(Level.REPLAN, status(9, Level.REPLAN))


def test_another_language() -> None:
    """Templates and words are replaced, all or some; the rest stays."""
    german = Texts(
        counter="seit {steps_since_milestone} Schritten kein Meilenstein",
        effects={Effect.READ: "gelesen"},
        reasons={Reason.LONG_REREAD_UNCHANGED: "unverändert noch einmal gelesen"},
        count="{count}-mal {what}",
    )

    assert german.counter_line(stuck()) == f"{OURS} seit 21 Schritten kein Meilenstein"
    assert "10-mal gelesen, 10-mal search" in german.say(Level.REPLAN, stuck())
    assert "10-mal unverändert noch einmal gelesen" in german.say(Level.REPLAN, stuck())


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{wrong}", "wrong"),
        ("{", "template"),
        ("{0}", "'0'"),
        ("{steps.real}", "steps.real"),
        ("{steps:x}", "template"),
    ],
)
def test_a_wrong_template_fails_at_start_up(template: str, problem: str) -> None:
    """With its name."""
    with pytest.raises(ConfigError, match=rf"texts\.replan.*{problem}"):
        Texts(replan=template)

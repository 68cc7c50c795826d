"""Rules of `milestones`: which steps reach one, and by what evidence."""

from __future__ import annotations

import pytest

from otel_stall.calls import Hints
from otel_stall.milestones import confirmed, declared_milestone, milestone_of
from otel_stall.observations import Effect, Signs, Step
from otel_stall.reasons import Reason
from otel_stall.verdicts import Declaration, Evidence, Milestone

STEP = Step("bash", Effect.CHECK, command="bash:pytest")


def hinted(evidence: str) -> Step:
    return Step("bash", Effect.CHECK, command="bash:pytest", hints=Hints(milestone="paid", evidence=evidence))


class TestVerified:
    @pytest.mark.parametrize(
        ("step", "reason", "milestone"),
        [
            (STEP, Reason.CHECK_TURNED_GREEN, Milestone(9, "pytest", Evidence.OBSERVED, 4)),
            (STEP, Reason.IRREVERSIBLE_EFFECT, Milestone(9, "pytest", Evidence.IRREVERSIBLE, 4)),
            (hinted("observed"), Reason.HOST_MILESTONE, Milestone(9, "paid", Evidence.OBSERVED, 4)),
            (hinted(""), Reason.HOST_MILESTONE, Milestone(9, "paid", Evidence.OBSERVED, 4)),
            (hinted("irreversible"), Reason.HOST_MILESTONE, Milestone(9, "paid", Evidence.IRREVERSIBLE, 4)),
            (STEP, Reason.CHECK_PASSED, None),
            (hinted("observed"), Reason.UNSEEN_CONTENT, None),
        ],
    )
    def test_by_its_reason(self, step: Step, reason: Reason, milestone: Milestone | None) -> None:
        """A check that turned green, an effect that cannot be undone, or the host's word; nothing else."""
        assert milestone_of(step, reason, 9, 4) == milestone

    def test_names_are_short(self) -> None:
        """A host's name is cut."""
        step = Step("x", Effect.OTHER, hints=Hints(milestone="m" * 500, evidence="observed"))
        found = milestone_of(step, Reason.HOST_MILESTONE, 1, 1)

        assert found is not None
        assert len(found.name) == 120


class TestDeclared:
    @pytest.mark.parametrize(
        ("step", "milestone"),
        [
            (hinted("declared"), Milestone(9, "paid", Evidence.DECLARED, 4)),
            (hinted("observed"), None),
            (Step("finish", Effect.OTHER, command="finish", signs=Signs(done=True)),
             Milestone(9, "finish", Evidence.DECLARED, 4)),
            (Step("finish", Effect.OTHER, command="finish", signs=Signs(done=True), failed=True), None),
            (STEP, None),
        ],
    )  # fmt: skip
    def test_is_recorded(self, step: Step, milestone: Milestone | None) -> None:
        """What the model says of itself, unless the call that says it failed."""
        assert declared_milestone(step, 9, 4) == milestone

    def test_does_not_count(self) -> None:
        """Two kinds of evidence are verified."""
        assert [evidence.verified for evidence in Evidence] == [True, True, False]


class TestConfirmed:
    WAITING = (Declaration(2, "paid"), Declaration(5, "finish"))

    @pytest.mark.parametrize(
        ("reason", "name", "confirms"),
        [
            (Reason.CHECK_TURNED_GREEN, "pytest", WAITING),
            (Reason.HOST_MILESTONE, "paid", WAITING[:1]),
            (Reason.HOST_MILESTONE, "sent", ()),
            (Reason.IRREVERSIBLE_EFFECT, "git push", ()),
            (Reason.IRREVERSIBLE_EFFECT, "paid", ()),
        ],
    )
    def test_by_what(self, reason: Reason, name: str, confirms: tuple[Declaration, ...]) -> None:
        """A check that turned green verifies all that waited, the host what it names, a push nothing."""
        reached = Milestone(9, name, Evidence.OBSERVED, 4)

        milestone, waiting = confirmed(reached, reason, self.WAITING)

        assert milestone == Milestone(9, name, Evidence.OBSERVED, 4, confirms)
        assert waiting == [one for one in self.WAITING if one not in confirms]

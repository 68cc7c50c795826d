"""The one table of reasons: what each says a step gained, how it moves the waste score, and in words.

The score is the lane's leaky counter of work that brings little: `CLEAR` sets it to 0, `RELIEVE` takes
`waste_relief` off, a number is added. Weights are those measured on runs in which readers marked the
stalls (`docs/detection.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from otel_stall.verdicts import Gain

__all__ = ["CLEAR", "RELIEVE", "TABLE", "Entry", "Reason"]

CLEAR = -2.0
RELIEVE = -1.0


class Reason(StrEnum):
    """Why a step gained what it gained; the value of `stall.gain.reason`."""

    HOST_MILESTONE = "host_milestone"
    CHECK_TURNED_GREEN = "check_turned_green"
    IRREVERSIBLE_EFFECT = "irreversible_effect"
    INFRASTRUCTURE = "infrastructure"
    WAITING = "waiting"
    CONTENT_NOT_CAPTURED = "content_not_captured"
    OUTCOME_UNKNOWN = "outcome_unknown"
    CHECK_PASSED = "check_passed"
    GREEN_AGAIN = "green_again"
    CHECK_IMPROVED = "check_improved"
    FAILURE_MOVED = "failure_moved"
    CHANGE_CONFIRMED = "change_confirmed"
    STILL_FAILING = "still_failing"
    STILL_GREEN = "still_green"
    NOTE = "note"
    NEW_THOUGHT = "new_thought"
    REPEATED_THOUGHT = "repeated_thought"
    REPEATED_TEXT = "repeated_text"
    NO_OPERATION = "no_operation"
    MALFORMED_CALL = "malformed_call"
    NEW_STATE = "new_state"
    STATE_SEEN_BEFORE = "state_seen_before"
    WRITE_CHANGED_NOTHING = "write_changed_nothing"
    TAKEN_BACK = "taken_back"
    REMOVED = "removed"
    SAME_CALL_FAILING = "same_call_failing"
    NEW_ERROR = "new_error"
    MISSING_AGAIN = "missing_again"
    KNOWN_ERROR = "known_error"
    ACKNOWLEDGEMENT = "acknowledgement"
    EMPTY_ANSWER = "empty_answer"
    SIMILAR_EMPTY_ANSWER = "similar_empty_answer"
    TOO_MANY_EMPTY_ANSWERS = "too_many_empty_answers"
    KNOWN_EMPTY_ANSWER = "known_empty_answer"
    THIN_SEARCH = "thin_search"
    SAME_OUTCOME = "same_outcome"
    SAME_OUTCOME_NEW_CALL = "same_outcome_new_call"
    CHECK_DUE = "check_due"
    REREAD_UNCHANGED = "reread_unchanged"
    LONG_REREAD_UNCHANGED = "long_reread_unchanged"
    RANGE_SHOWN_BEFORE = "range_shown_before"
    NEW_RANGE = "new_range"
    TOO_MANY_RANGES = "too_many_ranges"
    NOTHING_UNSEEN = "nothing_unseen"
    LITTLE_UNSEEN = "little_unseen"
    UNSEEN_CONTENT = "unseen_content"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a reason means: the gain, the move of the waste score, and a sentence for a person."""

    gain: Gain
    waste: float
    sentence: str


TABLE: dict[Reason, Entry] = {
    Reason.HOST_MILESTONE: Entry(Gain.MILESTONE, CLEAR, "the host verified a milestone"),
    Reason.CHECK_TURNED_GREEN: Entry(Gain.MILESTONE, CLEAR, "a red check turned green after a change"),
    Reason.IRREVERSIBLE_EFFECT: Entry(Gain.MILESTONE, CLEAR, "an effect that cannot be undone succeeded"),
    Reason.INFRASTRUCTURE: Entry(Gain.NEUTRAL, 0, "the infrastructure failed, not the agent"),
    Reason.WAITING: Entry(Gain.NEUTRAL, 0, "waiting for something that goes on"),
    Reason.CONTENT_NOT_CAPTURED: Entry(Gain.NEUTRAL, 0, "the result was not captured"),
    Reason.OUTCOME_UNKNOWN: Entry(Gain.NEUTRAL, 0, "the outcome is unknown"),
    Reason.CHECK_PASSED: Entry(Gain.VERIFICATION, CLEAR, "a failing check passed"),
    Reason.GREEN_AGAIN: Entry(Gain.VERIFICATION, 0, "green again after a failure that was mended before"),
    Reason.CHECK_IMPROVED: Entry(Gain.VERIFICATION, CLEAR, "fewer failures than ever before"),
    Reason.FAILURE_MOVED: Entry(Gain.VERIFICATION, CLEAR, "the check fails in a way not seen before"),
    Reason.CHANGE_CONFIRMED: Entry(Gain.VERIFICATION, 0, "a change was checked for the first time"),
    Reason.STILL_FAILING: Entry(Gain.NONE, 1, "the check fails as it did before"),
    Reason.STILL_GREEN: Entry(Gain.NONE, 1, "the check was green already"),
    Reason.NOTE: Entry(Gain.NONE, 0.5, "a plan or note; statuses are no progress"),
    Reason.NEW_THOUGHT: Entry(Gain.NEUTRAL, 0, "a thought"),
    Reason.REPEATED_THOUGHT: Entry(Gain.NONE, 1, "the same thought again"),
    Reason.REPEATED_TEXT: Entry(Gain.NONE, 1, "the model said the same again and did nothing"),
    Reason.NO_OPERATION: Entry(Gain.NONE, 1, "a command that does nothing"),
    Reason.MALFORMED_CALL: Entry(Gain.NONE, 1, "a malformed call"),
    Reason.NEW_STATE: Entry(Gain.STATE, CLEAR, "something was changed that was not so before"),
    Reason.STATE_SEEN_BEFORE: Entry(Gain.NONE, 1, "back to a state that was there before"),
    Reason.WRITE_CHANGED_NOTHING: Entry(Gain.NONE, 1, "a write that changed nothing"),
    Reason.TAKEN_BACK: Entry(Gain.NONE, 0.5, "changes were taken back"),
    Reason.REMOVED: Entry(Gain.NEUTRAL, 0, "files were removed, made or marked"),
    Reason.SAME_CALL_FAILING: Entry(Gain.NONE, 1, "the same call failed again with nothing changed"),
    Reason.NEW_ERROR: Entry(Gain.INFORMATION, RELIEVE, "an error not seen before"),
    Reason.MISSING_AGAIN: Entry(Gain.INFORMATION, 0.5, "one more command, module or file that is not there"),
    Reason.KNOWN_ERROR: Entry(Gain.NONE, 1, "an error of a kind seen before"),
    Reason.ACKNOWLEDGEMENT: Entry(Gain.NEUTRAL, 0, "a receipt for a new call"),
    Reason.EMPTY_ANSWER: Entry(Gain.NEUTRAL, 0.5, "an empty answer to a new question"),
    Reason.SIMILAR_EMPTY_ANSWER: Entry(Gain.NEUTRAL, 1, "an empty answer to a question much like an earlier one"),
    Reason.TOO_MANY_EMPTY_ANSWERS: Entry(Gain.NONE, 1, "one more empty answer in a row"),
    Reason.KNOWN_EMPTY_ANSWER: Entry(Gain.NONE, 1, "an empty answer to a question asked before"),
    Reason.THIN_SEARCH: Entry(Gain.NONE, 1, "a reworded search that brought mostly known text"),
    Reason.SAME_OUTCOME: Entry(Gain.NONE, 1, "the same call with the same outcome"),
    Reason.SAME_OUTCOME_NEW_CALL: Entry(Gain.NONE, 0.5, "another call with an outcome known already"),
    Reason.CHECK_DUE: Entry(Gain.NONE, 0, "a known outcome, looked at once after a change"),
    Reason.REREAD_UNCHANGED: Entry(Gain.NONE, 1, "something unchanged was read again"),
    Reason.LONG_REREAD_UNCHANGED: Entry(Gain.NONE, 2, "a long text, unchanged, was read again"),
    Reason.RANGE_SHOWN_BEFORE: Entry(Gain.NONE, 0.5, "a part of a text, unchanged, that was shown before"),
    Reason.NEW_RANGE: Entry(Gain.INFORMATION, RELIEVE, "an unread part of a known text"),
    Reason.TOO_MANY_RANGES: Entry(Gain.NONE, 0.5, "one more part of a text that does not change"),
    Reason.NOTHING_UNSEEN: Entry(Gain.NONE, 0.5, "no line that was not seen before"),
    Reason.LITTLE_UNSEEN: Entry(Gain.INFORMATION, 0.5, "few lines that were not seen before"),
    Reason.UNSEEN_CONTENT: Entry(Gain.INFORMATION, RELIEVE, "lines that were not seen before"),
}

"""The one table of reasons: what each says a step gained, how it moves the waste score, and in words.

The score is the lane's leaky counter of work that brings little: `CLEAR` sets it to 0, `RELIEVE` takes
`waste_relief` off, a number is added. Weights are those measured on runs in which readers marked the
stalls (`docs/detection.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from otel_stall.verdicts import Gain

__all__ = ["CLEAR", "RELIEVE", "SENTENCES", "TABLE", "Entry", "Reason"]

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
    DENIED_CALL = "denied_call"
    DENIED_AGAIN = "denied_again"
    GHOST_CALL = "ghost_call"
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
    """What a reason means: the gain, the move of the waste score, a sentence for a person, and an example."""

    gain: Gain
    waste: float
    sentence: str
    example: str


TABLE: dict[Reason, Entry] = {
    Reason.HOST_MILESTONE: Entry(
        Gain.MILESTONE,
        CLEAR,
        "the host verified a milestone",
        "the host sets `stall.milestone.name` to `invoice 17 sent`",
    ),
    Reason.CHECK_TURNED_GREEN: Entry(
        Gain.MILESTONE, CLEAR, "a red check turned green after a change", "`pytest` red, an edit, `pytest` green"
    ),
    Reason.IRREVERSIBLE_EFFECT: Entry(
        Gain.MILESTONE,
        CLEAR,
        "an effect that cannot be undone succeeded",
        "`git push`, `gh pr create`, `book_reservation`",
    ),
    Reason.INFRASTRUCTURE: Entry(
        Gain.NEUTRAL, 0, "the infrastructure failed, not the agent", "the provider answers 429 and the host says so"
    ),
    Reason.WAITING: Entry(Gain.NEUTRAL, 0, "waiting for something that goes on", "`job_status` answers `running`"),
    Reason.CONTENT_NOT_CAPTURED: Entry(
        Gain.NEUTRAL, 0, "the result was not captured", "the instrumentation leaves results out"
    ),
    Reason.OUTCOME_UNKNOWN: Entry(Gain.NEUTRAL, 0, "the outcome is unknown", "a failed call without a text"),
    Reason.CHECK_PASSED: Entry(
        Gain.VERIFICATION, CLEAR, "a failing check passed", "a flaky test passes with nothing changed"
    ),
    Reason.GREEN_AGAIN: Entry(
        Gain.VERIFICATION,
        0,
        "green again after a failure that was mended before",
        "the test broken by the last edit passes once more",
    ),
    Reason.CHECK_IMPROVED: Entry(
        Gain.VERIFICATION, CLEAR, "fewer failures than ever before", "`9 failed`, later `8 failed`, never so few before"
    ),
    Reason.FAILURE_MOVED: Entry(
        Gain.VERIFICATION,
        CLEAR,
        "the check fails in a way not seen before",
        "yesterday's `KeyError` is gone, now it is a `TypeError`",
    ),
    Reason.CHANGE_CONFIRMED: Entry(
        Gain.VERIFICATION, 0, "a change was checked for the first time", "an edit, then `ruff check`: still clean"
    ),
    Reason.STILL_FAILING: Entry(
        Gain.NONE, 1, "the check fails as it did before", "an edit, then the same three tests fail"
    ),
    Reason.STILL_GREEN: Entry(
        Gain.NONE, 1, "the check was green already", "`npm test` once more, with nothing changed since"
    ),
    Reason.DENIED_CALL: Entry(
        Gain.NEUTRAL, 0.5, "a call that a person or a policy refused", "`rm -rf build`, and the user says no"
    ),
    Reason.DENIED_AGAIN: Entry(
        Gain.NONE, 1, "a call of a kind that was refused before", "`rm -rf build` again after the user said no"
    ),
    Reason.GHOST_CALL: Entry(
        Gain.NONE,
        1,
        "the model asked for a tool and the host ran none",
        "an edit whose text is not in the file, which the host refuses without a trace",
    ),
    Reason.NOTE: Entry(
        Gain.NONE, 0.5, "a plan or note; statuses are no progress", "`TodoWrite`, an entry in `PROGRESS.md`"
    ),
    Reason.NEW_THOUGHT: Entry(Gain.NEUTRAL, 0, "a thought", "a `think` tool with a new text"),
    Reason.REPEATED_THOUGHT: Entry(
        Gain.NONE, 1, "the same thought again", "a `think` tool with a text it has had before"
    ),
    Reason.REPEATED_TEXT: Entry(
        Gain.NONE,
        1,
        "the model said the same again and did nothing",
        '"I can\'t establish the final status." again and again',
    ),
    Reason.NO_OPERATION: Entry(Gain.NONE, 1, "a command that does nothing", "`echo done`, `cd src`, `:`"),
    Reason.MALFORMED_CALL: Entry(
        Gain.NONE, 1, "a malformed call", "`InputValidationError`, a path that begins with `}`"
    ),
    Reason.NEW_STATE: Entry(
        Gain.STATE, CLEAR, "something was changed that was not so before", "an edit that was not made before"
    ),
    Reason.STATE_SEEN_BEFORE: Entry(
        Gain.NONE, 1, "back to a state that was there before", "the edit that was taken out is put in again"
    ),
    Reason.WRITE_CHANGED_NOTHING: Entry(
        Gain.NONE, 1, "a write that changed nothing", "`nothing to commit`, `already up to date`"
    ),
    Reason.TAKEN_BACK: Entry(Gain.NONE, 0.5, "changes were taken back", "`git checkout -- app.py`, `git stash`"),
    Reason.REMOVED: Entry(Gain.NEUTRAL, 0, "files were removed, made or marked", "`rm -r out`, `mkdir`, `git add`"),
    Reason.SAME_CALL_FAILING: Entry(
        Gain.NONE, 1, "the same call failed again with nothing changed", "the same edit whose text is not in the file"
    ),
    Reason.NEW_ERROR: Entry(
        Gain.INFORMATION, RELIEVE, "an error not seen before", "the first `permission denied` of a tool"
    ),
    Reason.MISSING_AGAIN: Entry(
        Gain.INFORMATION,
        0.5,
        "one more command, module or file that is not there",
        "after `hexdump` and `xxd`, `od` is not installed either",
    ),
    Reason.KNOWN_ERROR: Entry(Gain.NONE, 1, "an error of a kind seen before", "user 7 does not exist; nor do 8 and 9"),
    Reason.ACKNOWLEDGEMENT: Entry(Gain.NEUTRAL, 0, "a receipt for a new call", "`python migrate.py` prints nothing"),
    Reason.EMPTY_ANSWER: Entry(Gain.NEUTRAL, 0.5, "an empty answer to a new question", "a grep that finds nothing"),
    Reason.SIMILAR_EMPTY_ANSWER: Entry(
        Gain.NEUTRAL,
        1,
        "an empty answer to a question much like an earlier one",
        "a grep for nearly the same that finds nothing either",
    ),
    Reason.TOO_MANY_EMPTY_ANSWERS: Entry(
        Gain.NONE, 1, "one more empty answer in a row", "the ninth empty answer in a row"
    ),
    Reason.KNOWN_EMPTY_ANSWER: Entry(
        Gain.NONE, 1, "an empty answer to a question asked before", "the grep that found nothing, once more"
    ),
    Reason.THIN_SEARCH: Entry(
        Gain.NONE,
        1,
        "a reworded search that brought mostly known text",
        "a web search in other words brings the same pages",
    ),
    Reason.SAME_OUTCOME: Entry(
        Gain.NONE, 1, "the same call with the same outcome", "`git branch` again, same branches"
    ),
    Reason.SAME_OUTCOME_NEW_CALL: Entry(
        Gain.NONE, 0.5, "another call with an outcome known already", "`git status -s` says what `git status` said"
    ),
    Reason.CHECK_DUE: Entry(
        Gain.NONE,
        0,
        "a known outcome, looked at once after a change",
        "an edit, then `python app.py` prints what it did before",
    ),
    Reason.REREAD_UNCHANGED: Entry(
        Gain.NONE, 1, "something unchanged was read again", "a short file read again, no write in between"
    ),
    Reason.LONG_REREAD_UNCHANGED: Entry(
        Gain.NONE, 2, "a long text, unchanged, was read again", "the same 300 lines read again"
    ),
    Reason.RANGE_SHOWN_BEFORE: Entry(
        Gain.NONE, 0.5, "a part of a text, unchanged, that was shown before", "lines 40-60 of a file shown whole before"
    ),
    Reason.NEW_RANGE: Entry(
        Gain.INFORMATION, RELIEVE, "an unread part of a known text", "the next page of a long file"
    ),
    Reason.TOO_MANY_RANGES: Entry(
        Gain.NONE,
        0.5,
        "one more part of a text that does not change",
        "the fourteenth window on one file that does not change",
    ),
    Reason.NOTHING_UNSEEN: Entry(
        Gain.NONE, 0.5, "no line that was not seen before", "a grep whose hits stand in files already read"
    ),
    Reason.LITTLE_UNSEEN: Entry(
        Gain.INFORMATION, 0.5, "few lines that were not seen before", "two new lines among forty known ones"
    ),
    Reason.UNSEEN_CONTENT: Entry(
        Gain.INFORMATION, RELIEVE, "lines that were not seen before", "a file not read before"
    ),
}

SENTENCES = {reason.value: entry.sentence for reason, entry in TABLE.items()}
"""Each reason, as it stands on spans and in reports, in words for a person."""

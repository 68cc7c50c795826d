"""The errors otel-stall raises, kept apart to avoid import loops.

    StallError
    ├── Abandoned                    a run was given up, in `otel_stall.pressure`
    ├── ConfigError    (ValueError)  a setting is wrong; raised at start-up only
    │   └── ConfigFileError          the file with the settings is
    ├── DecodeError    (ValueError)  input is not the format it claims to be
    ├── NoAnswerError                a gateway that was asked gave no answer
    ├── SelectionError               no conversation, or more than one, is meant
    └── SnapshotError  (ValueError)  a saved state cannot be read

After start-up nothing is raised into the host: hooks catch, count and log. `Abandoned` alone is, where it was
opted into.
"""

__all__ = [
    "UNREADABLE",
    "ConfigError",
    "ConfigFileError",
    "DecodeError",
    "NoAnswerError",
    "SelectionError",
    "SnapshotError",
    "StallError",
    "place_of",
]


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What taking apart a value raises that is not what it claims to be, as a saved state that is damaged."""


class StallError(Exception):
    """Base of every error otel-stall raises."""


class ConfigError(StallError, ValueError):
    """A setting is wrong; `field` names it as the user wrote it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class ConfigFileError(ConfigError):
    """A file of settings cannot be used; `field` is its path."""


class DecodeError(StallError, ValueError):
    """Input could not be decoded; the message says where and why, never what it held."""


class NoAnswerError(StallError):
    """A running gateway gave no answer that can be used; the message says why."""


class SelectionError(StallError):
    """No conversation, or more than one, is meant; the message names those that could be."""


class SnapshotError(StallError, ValueError):
    """A saved state is damaged or was written by a newer version."""


def place_of(error: BaseException) -> str:
    """Return file and line where an error was raised: its message may hold what was being read."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "unknown place"

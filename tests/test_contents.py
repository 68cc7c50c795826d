"""Rules of `contents`: results that are not recorded are named once, with the switch that records them."""

from __future__ import annotations

import pytest

from otel_stall.calls import Capture
from otel_stall.contents import ContentWatch
from otel_stall.observations import Effect, Step
from otel_stall.verdicts import Gain, Judged, Verdict

SCOPE = "pydantic-ai"


def step(
    number: int, result: Capture = Capture.ABSENT, arguments: Capture = Capture.ABSENT, conversation: str = "c"
) -> Judged:
    verdict = Verdict(number, True, Gain.NEUTRAL, "", 0, number, 0, 0, 0, 0)
    observed = Step("read_file", Effect.READ, arguments=arguments, result=result)
    return Judged(conversation, "main", "", "", "", "", observed, verdict)


def test_says_the_switch(caplog: pytest.LogCaptureFixture) -> None:
    """After so many calls without content the log names the instrumentation and its switch."""
    watch = ContentWatch(3)
    for number in (1, 2):
        watch.saw(step(number), SCOPE)
    assert caplog.messages == []
    watch.saw(step(3), SCOPE)
    assert caplog.messages == [
        "the first 3 tool calls of a conversation carry neither arguments nor results, so that nothing can be said of "
        "what they gained; pydantic-ai leaves content out: to record it: InstrumentationSettings(include_content=True)"
    ]


def test_once_per_instrumentation(caplog: pytest.LogCaptureFixture) -> None:
    """Further conversations of the same instrumentation are silent; another one is named."""
    watch = ContentWatch(1)
    for scope in (SCOPE, "unheard.of", SCOPE, "unheard.of"):
        for conversation in ("a", "b"):
            watch.saw(step(1, conversation=conversation), scope)
    assert [message.split("; ")[1] for message in caplog.messages] == [
        "pydantic-ai leaves content out: to record it: InstrumentationSettings(include_content=True)",
        "unheard.of leaves content out: see its documentation for the option that records content",
    ]


def test_results_alone_are_missing(caplog: pytest.LogCaptureFixture) -> None:
    """Arguments do not help where results are left out, and the log says which it is."""
    watch = ContentWatch(1)
    watch.saw(step(1, arguments=Capture.CAPTURED), SCOPE)
    assert "carry no results" in caplog.text


@pytest.mark.parametrize("capture", [Capture.CAPTURED, Capture.TRUNCATED, Capture.REDACTED])
def test_a_result_ends_the_watch(capture: Capture, caplog: pytest.LogCaptureFixture) -> None:
    """A conversation that showed one result is not suspected later, when tools have nothing to say."""
    watch = ContentWatch(2)
    watch.saw(step(1, capture), SCOPE)
    for number in range(2, 10):
        watch.saw(step(number), SCOPE)
    assert caplog.messages == []


def test_a_conversation_in_the_middle(caplog: pytest.LogCaptureFixture) -> None:
    """Only the start of a conversation tells; one taken up later is left alone."""
    watch = ContentWatch(2)
    for number in range(50, 60):
        watch.saw(step(number), SCOPE)
    assert caplog.messages == []


def test_switched_off(caplog: pytest.LogCaptureFixture) -> None:
    """With 0 nothing is ever said."""
    watch = ContentWatch(0)
    watch.saw(step(1), SCOPE)
    assert caplog.messages == []


def test_bounded() -> None:
    """Of any number of conversations and scopes only so many are remembered."""
    watch = ContentWatch(2)
    for number in range(5_000):
        watch.saw(step(1, conversation=str(number)), str(number))
    assert len(watch._without) == 1_024

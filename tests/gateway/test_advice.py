"""What a host is told at its turns by a gateway: each rung once, where it can be carried out, a record at the end."""

from __future__ import annotations

import json

from downstreams import Kept, assembled_gateway, attributes, records_of, run, traces

from otel_stall.config import StallConfig
from otel_stall.gateway.serve import Parts

EVERY = StallConfig.create(
    {"pressure": {"acts": ["notice", "replan", "ask_user", "abandon"]}, "detection": {"distance_limit": 1}}
)


def _told(parts: Parts, *can: str, conversation: str = "c-1") -> object:
    return parts.advisor.advise(conversation, can)["action"]


def test_rungs_act_once_each_in_order_where_the_host_can() -> None:
    """One that the host cannot carry out at this event waits for one at which it can."""
    with assembled_gateway(Kept(), EVERY, mode="tap") as parts:
        parts.gateway.handle(traces(run(steps=40)))
        assert _told(parts) is None
        assert _told(parts, "replan", "abandon") == "replan"
        assert _told(parts, "replan", "abandon") is None
        assert _told(parts, "ask_user", "abandon") == "ask_user"
        assert _told(parts, "replan", "abandon") == "abandon"
        assert _told(parts, "replan", "ask_user", "abandon") is None


def test_the_counter_comes_with_every_turn_of_a_stall() -> None:
    """And with none outside of one, or of a conversation that nobody knows."""
    with assembled_gateway(Kept(), EVERY, mode="tap") as parts:
        parts.gateway.handle(traces(run("stuck", steps=12)))
        parts.gateway.handle(traces(run("fine", steps=1)))
        counters = {name: parts.advisor.advise(name, ())["counter"] for name in ("stuck", "fine", "nobody")}
    assert str(counters.pop("stuck")).startswith("[otel-stall] ")
    assert counters == {"fine": None, "nobody": None}


def test_giving_up_is_told_downstream_with_its_record() -> None:
    """The event carries the record as its body: it is no completion, and says what was kept."""
    kept = Kept()
    with assembled_gateway(kept, EVERY, mode="tap") as parts:
        parts.gateway.handle(traces(run(steps=40)))
        while _told(parts, "replan", "ask_user", "abandon") != "abandon":
            pass
    (record,) = [record for record in records_of(kept.requests) if record.event_name == "stall.abandoned"]
    body = json.loads(record.body.string_value)
    assert body["outcome"] == "abandoned"
    assert attributes(record)["gen_ai.conversation.id"] == body["conversation"] == "c-1"


def test_observing_is_the_default() -> None:
    """Without levels that act a stall says nothing to its host."""
    with assembled_gateway(Kept(), mode="tap") as parts:
        parts.gateway.handle(traces(run(steps=40)))
        advice = parts.advisor.advise("c-1", ("replan", "ask_user", "abandon"))
    assert advice == {"counter": None, "action": None, "text": None}

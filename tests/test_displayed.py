"""What a person sees of hostile names: no escape, no reordering, no hidden text, on any page of the command line."""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from otel_stall.analysis import analyze
from otel_stall.baseline import Baseline, Group
from otel_stall.config import StallConfig
from otel_stall.doctor import examine
from otel_stall.errors import NoAnswerError
from otel_stall.readers import Problems, read_paths
from otel_stall.report import conversation, doctor, survey, text
from otel_stall.report import json as json_report
from otel_stall.report.cells import Screen
from otel_stall.report.credit import Credits
from otel_stall.report.status import asked
from otel_stall.survey import survey as surveyed

HOSTILE = {
    "colour and title": "\x1b[31mred\x1b]0;title\x07",
    "cursor and screen": "\x1b[2J\x1b[H\r\x08\x08gone\x9b2J",
    "a link": "\x1b]8;;http://x.example\x1b\\here\x1b]8;;\x1b\\",
    "reordering": "\u202egpj.exe\u202c \u2066a\u2069 \u061c",
    "hidden": "a\u200b\u200d\ufeff\u00ad\U000e0041b",
    "lines": "one\ntwo\r\nthree\u2028four\u2029five\x0b\x0c\x85",
    "a page": "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;",
    "surrogates": "\ud800\udfff",
    "markup": "[bold red]x[/] [link=http://x.example]y[/link] %s {0} \\",
    "private": "\ue000\U00100000\uffff",
    "long": "x" * 100_000,
    "null": "a\0b",
}


def is_safe(shown: str) -> bool:
    return all(
        character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        for character in shown
    )


def spans(hostile: str) -> bytes:
    """Return spans that have the text wherever a name, an id or a value can stand."""

    def attributes(**more: str) -> list[dict[str, Any]]:
        said = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": hostile,
            "gen_ai.agent.name": hostile,
            "gen_ai.conversation.id": hostile,
            "stall.task.class": hostile,
            "stall.run.id": hostile,
            "stall.run.outcome": hostile,
            "stall.milestone": hostile,
            "gen_ai.tool.call.arguments": json.dumps({"command": hostile, "path": hostile}),
            "gen_ai.tool.call.result": hostile,
            hostile: hostile,
            **more,
        }
        return [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]

    made = [
        {
            "traceId": "1" * 32,
            "spanId": f"{number:016x}",
            "name": hostile,
            "startTimeUnixNano": str(number * 10**9),
            "endTimeUnixNano": str(number * 10**9 + 1),
            "attributes": attributes(**({"gen_ai.tool.name": "bash"} if number % 2 else {})),
            "status": {"code": 2, "message": hostile},
            "events": [{"name": hostile, "timeUnixNano": "5", "attributes": attributes()}],
        }
        for number in range(1, 30)
    ]
    other = {**made[0], "spanId": "f" * 16, "attributes": [{"key": hostile, "value": {"stringValue": hostile}}]}
    scoped = [{"scope": {"name": hostile, "version": hostile}, "spans": [*made, other]}]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": hostile}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]}).encode()


PAGES: dict[str, Callable[[bytes], str]] = {}


def page(made: Callable[[bytes], str]) -> Callable[[bytes], str]:
    PAGES[made.__name__] = made
    return made


def views(data: bytes, problems: Problems) -> Iterator[Any]:
    yield from read_paths(["-"], problems=problems, stdin=io.BytesIO(data))


@page
def report(data: bytes) -> str:
    problems = Problems()
    return text.render(analyze(views(data, problems)), problems)


@page
def report_on_a_terminal(data: bytes) -> str:
    problems = Problems()
    return text.render(analyze(views(data, problems)), problems, Screen(100))


@page
def one_conversation(data: bytes) -> str:
    problems = Problems()
    return conversation.render(analyze(views(data, problems), details=True), problems, Screen(100), steps=True)


@page
def credit_of_segments(data: bytes) -> str:
    problems = Problems()
    baseline = Baseline(0.05, 0.9, (Group("x", None, 9, 9, 40, False),))
    return text.render(analyze(views(data, problems)), problems, credit=Credits(baseline))


@page
def document(data: bytes) -> str:
    problems = Problems()
    return json_report.render(analyze(views(data, problems), details=True), problems, steps=True)


@page
def examination(data: bytes) -> str:
    problems = Problems()
    found = examine(views(data, problems))
    return doctor.render(found, problems) + doctor.document(found, problems)


@page
def survey_of_milestones(data: bytes) -> str:
    problems = Problems()
    config = StallConfig.create({"milestones": {"tools": {"irreversible": ["bash"]}}})
    found = surveyed(views(data, problems), config)
    return survey.render(found, problems) + survey.document(found, problems)


@pytest.mark.parametrize("shown", PAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_values(name: str, shown: str) -> None:
    """Wherever a name, an id, a scope or a value may be shown, it stands on one line and moves nothing."""
    assert is_safe(PAGES[shown](spans(HOSTILE[name])))


@pytest.mark.parametrize("shown", PAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_said_of_broken_input(name: str, shown: str) -> None:
    """Nor does what is said of files that cannot be read, which quotes names of theirs."""
    foreign = json.dumps({HOSTILE[name]: 1}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    broken = json.dumps({"resourceSpans": [{HOSTILE[name]: 1, "scopeSpans": [HOSTILE[name]]}]}).encode()
    assert is_safe(PAGES[shown](foreign + b"\n" + broken + b"\n{" + HOSTILE[name].encode("utf-8", "replace") + b"\n"))


@pytest.mark.parametrize("name", HOSTILE)
def test_the_status_of_a_gateway(name: str) -> None:
    """Nor what an endpoint answers that says it is a gateway."""
    hostile = HOSTILE[name]
    stall = {
        "kind": hostile,
        "level": hostile,
        "first_step": 1,
        "detected_step": 2,
        "evidence": [hostile] * 3,
        "advice": hostile,
    }
    lane = {"id": hostile, "lane": hostile, "agent": hostile, "service": hostile, "steps": 5, "stall": stall}
    lane |= {"counters": {"steps_since_milestone": 1, "steps_since_gain": 2, "milestones": 0, "waste": 0}}
    lane |= {"milestones": [{"step": 1, "name": hostile, "evidence": hostile, "stands": True, "trace_id": hostile}]}
    body = json.dumps({"conversations": [lane], "more": 7}).encode()

    with answering(body) as address:
        answer = asked(address, None)
    assert is_safe(answer.text())
    assert is_safe(answer.json())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"<html>",
        b'{"conversations": 5}',
        b'{"conversations": [5]}',
        b'{"conversations": [{}], "more": 1}',
        b'{"conversations": [], "more": "\\u001b[2J"}',
        b'{"conversations": [{"id": "a", "lane": "b", "counters": {}, "stall": {}}]}',
    ],
)
def test_an_endpoint_that_is_no_gateway(body: bytes) -> None:
    """It is said to be none, in a sentence."""
    with pytest.raises(NoAnswerError), answering(body) as address:
        asked(address, None).text()


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """Serve one answer on loopback, and give the address."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            thread.join()

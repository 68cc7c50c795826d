"""Shell commands, files, addresses and MCP calls: evidence, milestones, texts and records name none of their words."""

from __future__ import annotations

import json
from pathlib import Path

import outlets
import pytest
from planted import Json, Secrets, request_of

from otel_stall.otlp import key_values

SECRETS = Secrets("commands")


def _at(place: str) -> str:
    return SECRETS.marker(place)


COMMANDS = [
    f"{_at('command')} --now",
    f"./{_at('script')}.sh -v",
    f"/opt/{_at('folder of a command')}/bin/ls",
    f"TOKEN={_at('assignment')} pytest -q",
    f"export PASSWORD={_at('export')}",
    f"env KEY={_at('env')} make build",
    f"sudo -u {_at('user')} systemctl restart nginx",
    f"curl https://user:{_at('password in a URL')}@example.org/a?token={_at('query')}",
    f"git clone https://x:{_at('token of a clone')}@example.org/r.git",
    f"git push https://x:{_at('token of a push')}@example.org/r.git {_at('branch')}",
    f"git {_at('subcommand of git')} -m 'x'",
    f"git commit -m '{_at('commit message')}'",
    f"make {_at('target of make')}",
    f"npm run {_at('script of npm')}",
    f"npm publish {_at('package')} --otp {_at('one-time password')}",
    f"kubectl apply -f {_at('manifest')}.yaml",
    f"docker push example.org/{_at('image')}",
    f"gh pr create --title '{_at('title')}'",
    f"aws s3 rm s3://{_at('bucket')}/{_at('object')}",
    f"python -m {_at('module')}",
    f"python -c 'print(\"{_at('program')}\")'",
    f"pytest tests/{_at('test file')}.py -k {_at('test name')}",
    f"cat {_at('file')}.txt",
    f"grep -rn {_at('pattern')} {_at('searched folder')}",
    f"sed -i s/{_at('old')}/{_at('new')}/ {_at('edited file')}",
    f"cat > {_at('target')} <<EOF\n{_at('document')}\nEOF",
    f"bash -lc 'cd {_at('entered folder')} && {_at('inner command')}'",
    f"echo {_at('echo')} > {_at('redirection')}",
    f"# {_at('comment')}",
    f"mysql -p{_at('password option')} -e 'DROP TABLE {_at('table')}'",
]


def _span(number: int, tool: str, arguments: object, result: str, **more: object) -> Json:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "c-1",
        "gen_ai.agent.name": "coder",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": f"call-{number}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": result,
        "enduser.id": _at("user id"),
        **more,
    }
    return {
        "traceId": f"{1:032x}",
        "spanId": f"{number:016x}",
        "name": f"execute_tool {tool}",
        "kind": 1,
        "startTimeUnixNano": str(number * 10**9),
        "endTimeUnixNano": str(number * 10**9 + 1),
        "attributes": key_values(attributes),
        "events": [
            {
                "timeUnixNano": str(number * 10**9),
                "name": "exception",
                "attributes": key_values({"exception.message": _at("exception"), "exception.stacktrace": _at("stack")}),
            }
        ]
        if more.get("error.type")
        else [],
        "status": {},
    }


def _requests() -> list[Json]:
    """Return a run that does each of the commands three times, fails, turns checks green and calls an MCP server."""
    spans: list[Json] = []

    def add(tool: str, arguments: object, result: str, **more: object) -> None:
        spans.append(_span(len(spans) + 1, tool, arguments, result, **more))

    for command in COMMANDS:
        for _ in range(3):
            add("bash", {"command": command, "description": _at("description")}, _at("output"))
        add("bash", {"command": command}, f"{_at('error output')}: not found", **{"error.type": "Failed"})
    for identity in ("checked file", "other checked file"):
        check = {"command": f"pytest tests/{_at(identity)}.py"}
        add("bash", check, f"FAILED {_at('failing test')}\n1 failed", **{"process.exit.code": 1})
        add("write_file", {"path": f"{_at('written file')}.py", "content": _at(f"content of {identity}")}, "ok")
        add("bash", check, "1 passed", **{"process.exit.code": 0})
    hints = {
        "stall.resource": _at("resource"),
        "stall.state.before": _at("state before"),
        "stall.state.after": _at("state after"),
        "stall.content.digest": _at("content digest"),
        "stall.effect": _at("effect"),
        "stall.wait.on": _at("wait"),
        "stall.milestone.name": "staging is up",
        "stall.milestone.evidence": _at("evidence"),
    }
    for _ in range(3):
        add("browse", {"url": f"https://a:{_at('password of a page')}@example.org"}, _at("page"), **hints)
        add("mcp__notes__create_page", {"page": {"title": _at("MCP argument")}}, _at("MCP result"))
    resource = {"service.name": "agents", "host.name": _at("host"), "process.command_line": _at("command line")}
    return [request_of(span, {"attributes": key_values(resource)}, "tests") for span in spans]


def test_words_of_commands_and_hints_come_out_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a secret stands in a command, a file's name, an address or a hint, what is said names it not."""
    requests = _requests()

    def output() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    found = outlets.command_line(requests, tmp_path, output)
    found |= outlets.gateway(requests, tmp_path)
    found |= outlets.live(outlets.spans_in(requests))
    leaks = {outlet: SECRETS.found_in(what if isinstance(what, str) else repr(what)) for outlet, what in found.items()}
    assert {outlet: places for outlet, places in leaks.items() if places} == {}
    # What is named is of our own vocabulary.
    said = repr(found["span attributes and events"])
    assert "most often: bash:" in said
    assert "'stall.milestone.name': 'git push'" in said
    assert "'stall.milestone.name': 'pytest'" in said

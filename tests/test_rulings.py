"""Rules of `rulings`: what the settings make of tools and of shell commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from acts import bash, call, hinted

from otel_stall.calls import ToolAnnotations, ToolCall
from otel_stall.commands import parse
from otel_stall.config import StallConfig
from otel_stall.effects import nature
from otel_stall.observations import Effect
from otel_stall.rulings import NO_RULINGS, Rulings
from otel_stall.steps import step


def ruled(
    tools: Mapping[str, Sequence[str]] | None = None,
    commands: Mapping[str, Sequence[str]] | None = None,
    *,
    irreversible: bool = True,
) -> Rulings:
    settings = {"tools": dict(tools or {}), "commands": dict(commands or {}), "irreversible": irreversible}
    return Rulings.of(StallConfig.create({"milestones": settings}).milestones)


def annotated(act: ToolCall, **said: bool) -> ToolCall:
    return replace(act, annotations=ToolAnnotations(**said))


class TestTools:
    @pytest.mark.parametrize(
        ("lists", "tool", "effect"),
        [
            ({"irreversible": ["file_claim"]}, "file_claim", Effect.IRREVERSIBLE),
            ({"irreversible": ["file_claim"]}, "mcp__insurer__file_claim", Effect.IRREVERSIBLE),
            ({"irreversible": ["mcp__insurer__*"]}, "mcp__insurer__file_claim", Effect.IRREVERSIBLE),
            ({"irreversible": ["mcp__insurer__*"]}, "file_claim", Effect.OTHER),
            ({"checks": ["ci_*"]}, "ci_status", Effect.CHECK),
            ({"never": ["exchange_rate"]}, "exchange_rate", Effect.WRITE),
            ({"never": ["cancel_*"]}, "cancel_order", Effect.WRITE),
            ({"never": ["create_pr"]}, "create_pr", Effect.WRITE),
            ({"never": ["run_tests"]}, "run_tests", Effect.OTHER),
            ({"never": ["pay_*"], "irreversible": ["*_bill"]}, "pay_bill", Effect.OTHER),
            ({}, "pay_bill", Effect.IRREVERSIBLE),
        ],
    )
    def test_by_name(self, lists: Mapping[str, Sequence[str]], tool: str, effect: Effect) -> None:
        """The whole name or its own part fits; `never` goes first, and leaves what the other words say."""
        assert nature(call(tool, {}), ruled(lists)).effect is effect

    def test_never_takes_the_hosts_hint_back_to_a_write(self) -> None:
        """A span that calls an effect irreversible is no milestone where the settings say never."""
        act = hinted(call("charge", {}), effect="irreversible")

        assert nature(act).effect is Effect.IRREVERSIBLE
        assert nature(act, ruled({"never": ["charge"]})).effect is Effect.WRITE

    def test_the_hosts_hint_goes_before_the_settings(self) -> None:
        """The host knows this one call."""
        assert (
            nature(hinted(call("charge", {}), effect="read"), ruled({"irreversible": ["charge"]})).effect is Effect.READ
        )

    def test_a_tool_that_never_counts_declares_nothing(self) -> None:
        """`submit` may be a tool like any other."""
        assert nature(call("submit", {})).declares_done
        assert not nature(call("submit", {}), ruled({"never": ["submit"]})).declares_done

    def test_a_check_by_settings_is_one_by_its_own_name(self) -> None:
        """Red and green are read from its result, and its identity is the tool."""
        rulings = ruled({"checks": ["ci_status"]})
        red, green = (
            step(call("ci_status", {"id": n}, text), rulings).check for n, text in enumerate(("1 failed", "ok"))
        )

        assert red is not None
        assert green is not None
        assert (red.green, green.green, red.identity == green.identity) == (False, True, True)

    def test_irreversible_effects_that_do_not_count_are_writes(self) -> None:
        """One switch takes all of them out, the host's hint and the settings' own included."""
        rulings = ruled({"irreversible": ["file_claim"]}, irreversible=False)
        acts = [call("file_claim", {}), call("pay_bill", {}), hinted(call("x", {}), effect="irreversible")]

        assert [nature(act, rulings).effect for act in [*acts, bash("git push")]] == [Effect.WRITE] * 4


class TestCommands:
    @pytest.mark.parametrize(
        ("lists", "line", "effect", "shown"),
        [
            ({"irreversible": ["./ship"]}, "./ship it", Effect.IRREVERSIBLE, "./ship"),
            ({"irreversible": ["ship"]}, "cd x && sudo ./bin/ship -v it", Effect.IRREVERSIBLE, "ship"),
            ({"irreversible": ["aws s3 rm"]}, "aws --profile s3 s3 rm s3://b", Effect.COMMAND, "command"),
            ({"irreversible": ["aws s3 rm"]}, "aws s3 --quiet rm s3://b", Effect.IRREVERSIBLE, "aws s3 rm"),
            ({"irreversible": ["ship"]}, "ship --dry-run", Effect.COMMAND, "command"),
            ({"irreversible": ["make roll-*"]}, "make roll-out && ls", Effect.IRREVERSIBLE, "make roll-*"),
            ({"checks": ["./smoke.sh"]}, "bash -lc './smoke.sh all'", Effect.CHECK, "./smoke.sh"),
            ({"checks": ["source check.sh"]}, "source check.sh", Effect.CHECK, "source check.sh"),
            ({"never": ["git commit"]}, "git commit -m x", Effect.WRITE, "git commit"),
            ({"never": ["git commit"]}, "git push", Effect.IRREVERSIBLE, "git push"),
            ({"never": ["make check"]}, "make check", Effect.COMMAND, "make check"),
            ({"never": ["helm"], "irreversible": ["helm upgrade"]}, "helm upgrade x", Effect.WRITE, "helm upgrade"),
        ],
    )  # fmt: skip
    def test_by_first_words(self, lists: Mapping[str, Sequence[str]], line: str, effect: Effect, shown: str) -> None:
        """Wrappers, options and the path before the name are passed over; the pattern is what is shown."""
        found = parse(line, ruled(commands=lists))

        assert (found.effect, found.shown) == (effect, shown)

    def test_a_check_by_settings_is_known_by_its_targets(self) -> None:
        """As one that is built in."""
        rulings = ruled(commands={"checks": ["./smoke.sh"]})

        assert parse("./smoke.sh -v all", rulings).check == parse("./smoke.sh all", rulings).check == "smoke.sh all"


class TestAnnotations:
    @pytest.mark.parametrize(
        ("tool", "said", "effect"),
        [
            ("delete_all", {"read_only": True}, Effect.READ),
            ("frobnicate", {"read_only": True}, Effect.READ),
            ("pay_bill", {"read_only": True, "destructive": True, "open_world": True}, Effect.READ),
            ("web_search", {"read_only": True}, Effect.SEARCH),
            ("run_tests", {"read_only": True}, Effect.CHECK),
            ("frobnicate", {"read_only": False}, Effect.OTHER),
            ("write_file", {"destructive": True}, Effect.WRITE),
            ("write_file", {"destructive": True, "open_world": True, "idempotent": True}, Effect.WRITE),
            ("refund_order", {"destructive": False}, Effect.IRREVERSIBLE),
            ("frobnicate", {"destructive": True, "open_world": True}, Effect.IRREVERSIBLE),
            ("get_page", {"destructive": True, "open_world": True}, Effect.READ),
        ],
    )
    def test_bound_what_the_name_says(self, tool: str, said: dict[str, bool], effect: Effect) -> None:
        """Read-only reads at most; destructive in the open world cannot be undone; one alone tells nothing."""
        assert nature(annotated(call(tool, {}), **said)).effect is effect

    def test_a_read_only_shell_changes_nothing(self) -> None:
        """Whatever its command would do elsewhere."""
        observed = step(annotated(bash("rm -r x", "ok"), read_only=True))

        assert (observed.effect, observed.mutates) == (Effect.READ, False)

    def test_host_and_settings_go_before_them(self) -> None:
        """A server may be wrong about its tools."""
        act = annotated(call("charge", {}), read_only=True)

        assert nature(hinted(act, effect="write")).effect is Effect.WRITE
        assert nature(act, ruled({"irreversible": ["charge"]})).effect is Effect.IRREVERSIBLE


def test_no_rulings_are_those_of_no_settings() -> None:
    """Nothing set, nothing said."""
    assert Rulings.of(StallConfig().milestones) == NO_RULINGS

"""The commands of the gateway: `serve` runs one, `status` asks one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

__all__ = ["hook", "serve", "status"]

_ADMIN = "http://127.0.0.1:14319"


@click.command()
@click.option("--mode", type=click.Choice(["tap", "inline"]), help="Take a copy, or sit in between.  [default: tap]")
@click.option("--forward", metavar="URL", help="Where to: grpc://host:port, grpcs://…, http://… or https://….")
@click.option("--grpc", metavar="HOST:PORT", help="Where OTLP/gRPC is received.  [default: 127.0.0.1:14317]")
@click.option("--http", metavar="HOST:PORT", help="Where OTLP/HTTP is received.  [default: 127.0.0.1:14318]")
@click.option("--admin", metavar="HOST:PORT", help="Health and conversations.  [default: 127.0.0.1:14319]")
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), help="File that keeps counts over a restart.")
@click.option("--copies", is_flag=True, default=None, help="tap: also send a marked copy of each step inside a stall.")
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="Settings in YAML, those of the gateway under `gateway:`; options go before them.",
)
def serve(config_path: Path | None, forward: str | None, state: Path | None, **options: object) -> int:
    """Judge what OTLP clients or a collector send, from hosts in any language.

    As a tap it gets a copy of the traces and sends events, metrics and if asked marked copies of stalled steps;
    inline it annotates and forwards everything, and acknowledges what the downstream took. An empty address
    switches a receiver off. Ends on SIGTERM, with what was accepted delivered.
    """
    import logging

    from otel_stall.gateway.settings import load

    try:
        from otel_stall.gateway.serve import serve
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"{missing.name} is not installed: pip install 'otel-stall[gateway]'") from None

    logging.basicConfig(format="otel-stall: %(levelname)s %(message)s", level=logging.WARNING)
    given = {name: value for name, value in options.items() if value is not None}
    given |= {"forward": {"url": forward}} if forward is not None else {}
    given |= {"state": {"file": state}} if state is not None else {}
    gateway, rules = load(config_path, os.environ, given)
    return serve(gateway, rules, lambda said: click.echo(f"otel-stall: {said}"))


@click.command()
@click.argument("host", metavar="HOST")
def hook(host: str) -> int:
    """Answer an event of a coding agent with what a local gateway says is due; for its hooks settings.

    HOST is claude-code or gemini-cli. The event comes on standard input, the answer goes to standard output in
    the host's format; nothing is printed where nothing is due or nothing answers. docs/gateway.md has the settings.
    """
    from otel_stall.hook import run

    return run([host])


@click.command()
@click.option("--admin", metavar="URL", default=_ADMIN, show_default=True, help="Admin endpoint of the gateway.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File with the token that the gateway asks for.")
@click.option("--stalled", is_flag=True, help="Only what is inside a stall.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("conversation", required=False, metavar="[ID]")
def status(admin: str, token_file: Path | None, stalled: bool, form: str, conversation: str | None) -> int:
    """Say where a conversation stands, or which ones a running gateway knows, the latest first.

    Exit status 1 where the gateway does not answer or does not know the conversation.
    """
    from otel_stall.report import status as report

    if conversation is not None and stalled:
        raise click.UsageError("--stalled is for the list, without an ID")
    answer = report.asked(admin, conversation, stalled=stalled, token_file=token_file)
    sys.stdout.write(answer.text() if form == "text" else answer.json())
    return 0

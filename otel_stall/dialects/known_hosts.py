"""`HOSTS`: what each host sends, what to switch on, and what stays unknown without it.

The page on hosts and `doctor` say what stands here; what the rows of the dialects read is taken from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_stall.dialects.rules import DIALECTS
from otel_stall.dialects.table import Dialect, Role

__all__ = ["HOSTS", "Host", "host_of", "role_names"]

LOGS: Final = "logs"
TRACES: Final = "traces"


@dataclass(frozen=True, slots=True)
class Host:
    """One host.

    `dialects` are the rows that read it, the first its own; `scopes` the beginnings of its scopes' names.
    `needs` are the signals without which it cannot be judged whole, `switch` what makes it send them with
    contents. `checked` is the version whose recordings were read, "" where its sources or pages were.
    """

    name: str
    dialects: tuple[str, ...]
    scopes: tuple[str, ...]
    needs: tuple[str, ...]
    switch: str
    lost: str
    checked: str = ""


HOSTS: Final[tuple[Host, ...]] = (
    Host(
        "Claude Code",
        ("claude-code",),
        ("com.anthropic.claude_code",),
        (LOGS, TRACES),
        "CLAUDE_CODE_ENABLE_TELEMETRY=1, OTEL_LOGS_EXPORTER=otlp, OTEL_LOG_TOOL_DETAILS=1; for results "
        "OTEL_TRACES_EXPORTER=otlp, CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1, OTEL_LOG_TOOL_CONTENT=1",
        "logs: arguments of most tools, compactions, prompts; traces: results, and calls that it refuses "
        "without a trace. It never tells what a failed command printed",
        "2.1.332",
    ),
    Host(
        "Codex",
        ("codex",),
        ("codex",),
        (LOGS,),
        "[otel] exporter in config.toml, with /v1/logs at the end of its endpoint; trace_exporter for compactions",
        "logs: every call; traces: compactions",
        "0.171.0",
    ),
    Host(
        "Gemini CLI",
        ("gemini-cli",),
        ("gemini-cli",),
        (LOGS,),
        "telemetry.enabled, telemetry.logPrompts and telemetry.traces set to true in its settings",
        "logs: exit codes, errors, its own loop signal, compressions; telemetry.traces: results",
        "0.61.0",
    ),
    Host(
        "Qwen Code",
        ("qwen-code",),
        ("qwen-code",),
        (LOGS,),
        "telemetry.enabled and telemetry.logPrompts set to true, QWEN_TELEMETRY_INCLUDE_SENSITIVE_SPAN_ATTRIBUTES=1",
        "logs: arguments, errors, its own loop signal, compressions; the variable: results",
        "0.24.4",
    ),
    Host(
        "OpenCode, Kilo",
        ("opencode", "ai-sdk"),
        ("opencode", "kilo"),
        (TRACES,),
        "OTEL_EXPORTER_OTLP_ENDPOINT, and experimental.openTelemetry set to true in its settings",
        "experimental.openTelemetry: every call; logs: digests of the work tree",
        "1.18.33",
    ),
    Host(
        "GitHub Copilot CLI",
        ("copilot", "genai"),
        ("github.copilot",),
        (TRACES,),
        "OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
        "the second: arguments and results; exit codes come without it",
        "1.0.102",
    ),
    Host(
        "GitHub Copilot Chat",
        ("genai",),
        ("copilot-chat", "copilot_chat"),
        (TRACES,),
        "github.copilot.chat.otel.enabled and github.copilot.chat.otel.captureContent",
        "the second: arguments and results; compactions are in metrics alone",
    ),
    Host(
        "Goose",
        ("goose", "genai"),
        ("goose",),
        (TRACES,),
        "OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
        "the second: arguments and results",
    ),
    Host(
        "Cline",
        ("cline",),
        ("cline",),
        (LOGS,),
        "CLINE_OTEL_* variables of the VS Code extension",
        "it records neither arguments nor results: nothing but failures, turns and compactions can be told",
    ),
    Host(
        "OpenHands",
        ("openhands", "lmnr"),
        (),
        (TRACES,),
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "nothing: contents are on",
        "1.58.2",
    ),
    Host(
        "OpenClaw",
        ("openclaw", "genai"),
        ("openclaw",),
        (TRACES,),
        "diagnostics.otel.enabled and captureContent set to true",
        "captureContent: arguments and results; it names no session, so that each trace is a conversation",
    ),
    Host(
        "Vercel AI SDK 7",
        ("genai",),
        ("gen_ai",),
        (TRACES,),
        "OpenTelemetry of @ai-sdk/otel, without recordInputs or recordOutputs set to false",
        "it names no conversation: each trace is one",
        "7.0.173",
    ),
    Host(
        "Vercel AI SDK 4 to 6, and its legacy integration",
        ("ai-sdk",),
        ("ai",),
        (TRACES,),
        "experimental_telemetry: {isEnabled: true, metadata: {sessionId: ...}}",
        "metadata: the conversation",
        "7.0.173",
    ),
    Host(
        "Mastra",
        ("genai",),
        ("@mastra/otel-exporter",),
        (TRACES,),
        "OtelExporter in its observability settings",
        "without a memory thread each run is a conversation",
        "1.71.0",
    ),
    Host(
        "Genkit",
        ("genkit",),
        ("genkit-tracer",),
        (TRACES,),
        "an exporter on its tracer provider",
        "it gives calls no id and, but for its chats, conversations no name",
        "1.42.0",
    ),
    Host(
        "Langfuse JS, LangChain.js through it",
        ("langfuse",),
        ("langfuse-sdk",),
        (TRACES,),
        "propagateAttributes({sessionId: ...})",
        "the session's id: the conversation",
        "5.11.1",
    ),
    Host(
        "LangSmith JS",
        ("langsmith",),
        ("langsmith",),
        (TRACES,),
        "its OpenTelemetry mode, tools wrapped in traceable",
        "traceable: with plain callbacks all runs overwrite one span",
        "0.12.0",
    ),
    Host(
        "Spring AI",
        ("spring-ai",),
        (),
        (TRACES,),
        "spring.ai.tools.observations.include-content=true",
        "the property: arguments and results; it names no conversation",
    ),
    Host(
        ".NET: Microsoft Agent Framework, Microsoft.Extensions.AI, Semantic Kernel",
        ("genai",),
        ("Experimental.Microsoft", "Microsoft.", "Experimental.Microsoft.Extensions.AI"),
        (TRACES,),
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, or EnableSensitiveData",
        "contents: arguments and results; Semantic Kernel gives calls no id",
    ),
)


def host_of(scope: str) -> Host | None:
    """Return the host whose scope this is, None for any other."""
    return next((host for host in HOSTS if host.scopes and _begins(scope, host.scopes)), None)


def _begins(scope: str, beginnings: tuple[str, ...]) -> bool:
    return any(scope == each or (scope.startswith(each) and len(each) > _SHORT) for each in beginnings)


_SHORT: Final = 3
"""Names as short as `ai` begin many others, and have to be the whole scope."""


def role_names(host: Host, role: Role) -> tuple[str, ...]:
    """Return the names of the spans and events in which the host's own row sees a role."""
    row = _row(host.dialects[0])
    return tuple(name for name, known in row.names.items() if known is role)


def _row(name: str) -> Dialect:
    return next(row for row in DIALECTS if row.name == name)

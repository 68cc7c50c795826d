"""An analysed lane in which nothing happened; tests of analysis, measurement and reports start from it."""

from __future__ import annotations

from otel_stall.findings import ConversationAnalysis, Counters

PLAIN = ConversationAnalysis(
    conversation="c",
    lane="main",
    agent="",
    service="",
    steps=0,
    compactions=0,
    partial=False,
    outcome="",
    milestones=(),
    stalls=(),
    counters=Counters(),
    arguments=0,
    results=0,
    commands=0,
    exit_codes=0,
)

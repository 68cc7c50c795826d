"""What a host calls to react to a stall, step by step, keeping what was reached; `docs/pressure.md` shows its use.

Adapters are modules of their own and import their framework: `otel_stall.pressure.langchain`, `.pydantic_ai`,
`.openai_agents`, `.claude_agent_sdk`.
"""

from otel_stall.dialects.messages import OURS
from otel_stall.pressure.abandonment import Abandoned, Abandonment
from otel_stall.pressure.ladder import Ladder, Pressure, Source
from otel_stall.pressure.texts import ENGLISH, FIELDS, Texts

__all__ = ["ENGLISH", "FIELDS", "OURS", "Abandoned", "Abandonment", "Ladder", "Pressure", "Source", "Texts"]

"""The analysis as one page for a browser: it loads nothing, and what it claims is the JSON document's.

`write` streams it, one conversation after the other. What is drawn, sorted and filtered is done by the scripts in
`assets/`, on the data that `records` lays out; the charts by Apache ECharts, in `vendor/`.
"""

from otel_stall.report.page.links import TraceLink
from otel_stall.report.page.writing import write

__all__ = ["TraceLink", "write"]

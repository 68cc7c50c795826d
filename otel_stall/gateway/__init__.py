"""`otel-stall serve`: a gateway for OTLP that judges what passes, in front of or beside a collector."""

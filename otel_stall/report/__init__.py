"""The forms in which an analysis is shown: text for a person, JSON for programs, OTLP for backends."""

__all__: list[str] = []

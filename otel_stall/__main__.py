"""`python -m otel_stall`."""

from otel_stall.cli import main

if __name__ == "__main__":
    main()

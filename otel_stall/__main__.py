"""`python -m otel_stall`."""

from otel_stall.start import main

if __name__ == "__main__":
    main()

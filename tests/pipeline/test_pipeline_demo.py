"""`make pipeline-demo`: what it says, and that nothing of it is left running."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

from chain import CONFIGS


def test_it_shows_the_stall_and_ends_on_ctrl_c_with_all_its_parts() -> None:
    """It finds the stall in Jaeger, prints where the conversation stands and where to look, and takes all down."""
    command = [sys.executable, str(CONFIGS / "demo.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as demo:
        try:
            assert demo.stdout is not None
            said = ""
            for line in demo.stdout:
                said += line
                if "or send your own spans" in line:
                    break
            ports = {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", said)}
            assert all(map(_listens, ports))
            demo.send_signal(signal.SIGINT)
            assert demo.wait(60) == 0
        finally:
            demo.terminate()  # takes its parts down, which a kill would not
    assert re.search(r"11 of its 17 spans lie inside a stall,\s+loop from step 3, at replan by step 16", said)
    assert re.search(r"pipeline-demo coder +loop at replan +16 steps", said)
    assert len(ports) == 4
    assert not any(map(_listens, ports))


def _listens(port: int) -> bool:
    """Return whether somebody listens; of the parts each has one of the demo's ports: Jaeger, collector, otel-stall."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

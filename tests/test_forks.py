"""Rules of `forks`: what a process renews after a fork."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from otel_stall import forks
from otel_stall.pressure import Ladder

SCRIPT = """
import gc, os
from otel_stall.forks import renew_in_children

told = []

class Owner:
    def __init__(self, name):
        self.name = name
        renew_in_children(self.renew)

    def renew(self):
        told.append(self.name)

def renew():
    told.append("function")

lives, gone = Owner("lives"), Owner("gone")
renew_in_children(renew)
del gone
gc.collect()
child = os.fork()
if child == 0:
    print(told, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(told)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_in_children_alone_and_while_the_owner_lives() -> None:
    """Functions and the methods of what lives are called in the child, in their order, and nothing in the parent."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['lives', 'function']", "[]"]


def test_what_is_gone_leaves_nothing_behind() -> None:
    """However many owners come and go, as a ladder for each run does, nothing is kept of them."""
    before = len(forks._renewed)
    for _ in range(100):
        Ladder(["notice"])
    gc.collect()
    assert len(forks._renewed) <= before

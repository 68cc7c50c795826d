"""Says which pinned packages have known vulnerabilities, and plainly where nobody could be asked.

`python .ci/release/audit.py LOCK...` asks the advisory service of the package index through pip-audit. Exit status 1
where a vulnerability is known. Packages of which nothing could be learnt were not audited: that is said, it is no pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Audit", "audited", "main", "sentence"]

_SECONDS = 120


@dataclass
class Audit:
    """Packages that were asked for, those of which nothing is known, and what is known of the others."""

    asked: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    vulnerable: dict[str, list[str]] = field(default_factory=dict)


def audited(dependencies: Iterable[dict[str, Any]], found: Audit) -> Audit:
    """Take in what pip-audit says of packages."""
    for one in dependencies:
        found.asked.add(one["name"])
        if "skip_reason" in one:
            found.unknown.add(one["name"])
        elif one.get("vulns"):
            found.vulnerable[one["name"]] = [vulnerability["id"] for vulnerability in one["vulns"]]
    return found


def sentence(found: Audit) -> str:
    """Return what the audit says, in one line."""
    known = len(found.asked) - len(found.unknown)
    if not known:
        return "dependency audit: NOT DONE, as the advisory service cannot be reached from here or knows no package"
    rest = f"; NOT audited: {', '.join(sorted(found.unknown))}" if found.unknown else ""
    bad = "".join(f"\n  {name}: {', '.join(ids)}" for name, ids in sorted(found.vulnerable.items()))
    return f"dependency audit: {known} packages, {len(found.vulnerable)} with known vulnerabilities{rest}{bad}"


def main(locks: list[str]) -> int:
    """Audit locks, say what was found and return the exit status."""
    found = Audit()
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner=off", "-f", "json"]
    for lock in locks:
        try:
            done = subprocess.run([*command, "-r", lock], capture_output=True, text=True, timeout=_SECONDS, check=False)
            audited(json.loads(done.stdout)["dependencies"], found)
        except (ValueError, KeyError, subprocess.TimeoutExpired):
            continue  # no answer: nothing of this lock is known
    print(sentence(found))
    return 1 if found.vulnerable else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

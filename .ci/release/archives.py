"""What a wheel and a source archive of otel-stall hold, and what is wrong with two builds of them.

`python .ci/release/archives.py DIST DIST` compares two folders that were built from one commit and exits with status 1
where an archive holds what it must not, lacks what it must have, or differs from its twin.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

__all__ = ["compared", "main", "names_of", "wrong_in_sdist", "wrong_in_wheel"]

PACKAGE: Final = "otel_stall"
_METADATA: Final = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
_BESIDE: Final = ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore")
_NEVER: Final = ("*.pyc", "*__pycache__*", "*tests*", "*fixtures*", "*.jsonl", "*.state", "*.env", "*.pem", "*.key")


def names_of(archive: Path) -> list[str]:
    """Return the names of the files in a wheel, or those in a source archive without its folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return sorted(wheel.namelist())
    with tarfile.open(archive) as source:
        return sorted(member.name.partition("/")[2] for member in source.getmembers() if member.isfile())


def wrong_in_wheel(names: Iterable[str], sources: Iterable[str]) -> list[str]:
    """Return what is wrong with the names in a wheel; `sources` are the files of the package in the checkout."""
    held = set(names)
    info = next((name.partition("/")[0] for name in held if name.split("/")[0].endswith(".dist-info")), "")
    expected = set(sources) | {f"{info}/{name}" for name in _METADATA}
    return [*_differences(held, expected), *_never(held)]


def wrong_in_sdist(names: Iterable[str], sources: Iterable[str]) -> list[str]:
    """Return what is wrong with the names in a source archive."""
    held = set(names)
    return [*_differences(held, set(sources) | set(_BESIDE)), *_never(held)]


def compared(first: Path, second: Path) -> list[str]:
    """Return which archives of two folders are not byte for byte the same."""
    listed = [sorted(path.name for path in folder.iterdir()) for folder in (first, second)]
    if listed[0] != listed[1]:
        return [f"{listed[0]} and {listed[1]} were built"]
    return [f"{name} differs" for name in listed[0] if (first / name).read_bytes() != (second / name).read_bytes()]


def _differences(held: set[str], expected: set[str]) -> Iterator[str]:
    yield from (f"{name} is missing" for name in sorted(expected - held))
    yield from (f"{name} is not expected" for name in sorted(held - expected))


def _never(held: set[str]) -> Iterator[str]:
    for name in sorted(held):
        if any(fnmatch(name, pattern) for pattern in _NEVER):
            yield f"{name} must be in no archive"


def _sources() -> list[str]:
    root = Path(__file__).parents[2]
    files = (path for path in (root / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [path.relative_to(root).as_posix() for path in files]


def main(folders: list[str]) -> int:
    """Say what is wrong with two builds and return the exit status."""
    first, second = map(Path, folders)
    wrong = compared(first, second)
    for archive in sorted(first.iterdir()):
        check = wrong_in_wheel if archive.suffix == ".whl" else wrong_in_sdist
        names = names_of(archive)
        wrong += [f"{archive.name}: {problem}" for problem in check(names, _sources())]
        print(f"{archive.name}: {len(names)} files, {archive.stat().st_size:,} bytes")
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Locks fit pyproject.toml, and what checks a release finds what is wrong with one."""

from __future__ import annotations

import io
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from archives import compared, names_of, wrong_in_sdist, wrong_in_wheel
from audit import Audit, audited, sentence
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
RUNTIME = [*PROJECT["project"]["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
GROUPS = PROJECT["dependency-groups"]
WANTED = {
    "dev.txt": [*RUNTIME, *GROUPS["dev"]],
    "lowest.txt": [*RUNTIME, *GROUPS["lowest"]],
    "release.txt": GROUPS["release"],
}


def _text(lock: str) -> str:
    return (ROOT / ".ci" / "locks" / lock).read_text(encoding="utf-8")


def _pins(lock: str) -> dict[str, list[Requirement]]:
    """Return what a lock pins, by name: several of one where Pythons need different versions."""
    pins: dict[str, list[Requirement]] = {}
    for line in _text(lock).replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            one = Requirement(line.partition(" --hash")[0])
            pins.setdefault(canonicalize_name(one.name), []).append(one)
    return pins


def _version(pin: Requirement) -> Version:
    (exact,) = pin.specifier
    assert exact.operator == "=="
    return Version(exact.version)


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_fits_pyproject(lock: str) -> None:
    """Each requirement is pinned at a version that it allows; `make lock` does that after a change of one."""
    pins = _pins(lock)
    for wanted in map(Requirement, WANTED[lock]):
        listed = pins.get(canonicalize_name(wanted.name), [])
        assert listed, f"{wanted.name} is not in .ci/locks/{lock}: make lock"
        for pin in listed:
            assert wanted.specifier.contains(_version(pin), prereleases=True), f"{pin} is not {wanted}: make lock"


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_has_a_hash_for_every_archive_and_no_address(lock: str) -> None:
    """What is installed is what was looked at, from wherever the machine gets it."""
    entries = [line for line in _text(lock).replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    assert len(entries) >= 30
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry) for entry in entries)
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", _text(lock))


def test_the_oldest_leg_has_the_oldest_versions_that_are_allowed() -> None:
    """What pyproject.toml promises of old versions is what is tested."""
    pins = _pins("lowest.txt")
    for wanted in map(Requirement, RUNTIME):
        (least,) = (Version(one.version) for one in wanted.specifier if one.operator == ">=")
        assert {_version(pin) for pin in pins[canonicalize_name(wanted.name)]} == {least}, wanted.name


INFO = [f"otel_stall-1.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")]
WHEEL = ["otel_stall/__init__.py", "otel_stall/py.typed", *INFO, "otel_stall-1.dist-info/licenses/LICENSE"]
SOURCES = ["otel_stall/__init__.py", "otel_stall/py.typed"]


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (WHEEL, []),
        ([name for name in WHEEL if not name.endswith("py.typed")], ["otel_stall/py.typed is missing"]),
        (
            [*WHEEL, "tests/fixtures/a.json"],
            ["tests/fixtures/a.json is not expected", "tests/fixtures/a.json must be in no archive"],
        ),
        ([*WHEEL, "notes.txt"], ["notes.txt is not expected"]),
    ],
)
def test_a_wheel_holds_the_package_and_nothing_else(names: list[str], wrong: list[str]) -> None:
    """Every file of the package with its marker for types, the metadata and the licence."""
    assert wrong_in_wheel(names, SOURCES) == wrong


def test_a_source_archive_holds_what_a_wheel_is_built_from() -> None:
    """And the pages that a reader of it needs: no tests, no recordings, nothing of the checkout besides."""
    pages = ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore"]
    assert wrong_in_sdist([*SOURCES, *pages], SOURCES) == []
    assert wrong_in_sdist([*SOURCES, *pages[1:], "docs/README.md"], SOURCES) == [
        "README.md is missing",
        "docs/README.md is not expected",
    ]


def test_names_are_read_from_both_kinds_of_archives(tmp_path: Path) -> None:
    """Of a source archive without its folder."""
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("otel_stall/py.typed", "")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as source:
        source.addfile(tarfile.TarInfo("a-1/otel_stall/py.typed"), io.BytesIO())
    assert names_of(tmp_path / "a.whl") == names_of(tmp_path / "a.tar.gz") == ["otel_stall/py.typed"]


def test_builds_that_differ_are_told(tmp_path: Path) -> None:
    """In a byte, or in what was built."""
    for folder, content in (("one", b"1"), ("two", b"2"), ("three", b"1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.whl").write_bytes(content)
    assert compared(tmp_path / "one", tmp_path / "three") == []
    assert compared(tmp_path / "one", tmp_path / "two") == ["a.whl differs"]
    (tmp_path / "three" / "b.tar.gz").write_bytes(b"")
    assert compared(tmp_path / "one", tmp_path / "three") == ["['a.whl'] and ['a.whl', 'b.tar.gz'] were built"]


@pytest.mark.parametrize(
    ("said", "sentences"),
    [
        ([], ["NOT DONE"]),
        ([{"name": "a", "skip_reason": "not found"}], ["NOT DONE"]),
        ([{"name": "a", "vulns": []}], ["1 packages, 0 with known vulnerabilities"]),
        ([{"name": "a", "vulns": []}, {"name": "b", "skip_reason": "?"}], ["1 packages, 0 with", "NOT audited: b"]),
        ([{"name": "a", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}], ["1 with known", "a: CVE-1, CVE-2"]),
    ],
)
def test_an_audit_that_learnt_nothing_is_no_pass(said: list[dict[str, Any]], sentences: list[str]) -> None:
    """Packages that nobody could be asked about are told as such."""
    assert all(part in sentence(audited(said, Audit())) for part in sentences)


def test_the_version_is_one_and_the_changelog_has_a_place_for_it() -> None:
    """What a release takes from pyproject.toml is what the package says of itself."""
    from otel_stall import __version__

    assert __version__ == PROJECT["project"]["version"]
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

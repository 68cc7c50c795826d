"""The analysis in pieces, by several processes, is that of the whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from exports import RUN, otlp
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_stall.analysis import analyze, joined, judge_part, readings
from otel_stall.calls import HostMark, Reading
from otel_stall.config import StallConfig
from otel_stall.crowds import Crowds, names_of
from otel_stall.parallel import analyze_paths
from otel_stall.readers import Problems, read_paths
from otel_stall.readers.pieces import Piece, count_lines, pieces, told, views_of
from otel_stall.spans import SpanView


def conversation(number: int) -> list[SpanView]:
    """Return a run in a trace of its own; every third one shares its conversation with the one before."""
    whose = {"gen_ai.conversation.id": f"run-{number - number % 3 // 2}"}
    return [
        replace(
            view,
            trace_id=f"{number + 1:032x}",
            span_id=f"{number:04x}{view.span_id[4:]}",
            parent_id=f"{number:04x}{view.parent_id[4:]}" if view.parent_id else "",
            start_ns=view.start_ns + number * 10**9,
            end_ns=view.end_ns + number * 10**9,
            attributes={**view.attributes, **whose},
        )
        for view in RUN
    ]


def lines(numbers: Sequence[int]) -> list[bytes]:
    """Return the runs as lines of OTLP, two spans in each, the runs mixed."""
    cut = [conversation(number) for number in numbers]
    mixed = [views[at : at + 2] for at in range(0, len(RUN), 2) for views in cut]
    return [json.dumps(otlp(views)).encode() + b"\n" for views in mixed]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a large file in which some lines are broken, an empty file and no trace."""
    whole = lines(range(9))
    whole[7:7] = [b"{broken\n", b"\n"]
    whole[40:40] = [b"[1, 2]\n", b"\xef\xbb\xbf{}\n", b'{"resourceSpans": 3}\n']
    (tmp_path / "a.jsonl").write_bytes(b"".join(whole).rstrip())
    (tmp_path / "b.jsonl").write_bytes(b"")
    (tmp_path / "c.txt").write_bytes(b"no trace\n")
    (tmp_path / "d.jsonl").write_bytes(b"".join(lines(range(9, 12))))
    return tmp_path


def test_says_what_the_whole_says(folder: Path) -> None:
    """Pieces, shares and processes change nothing in the report, nor in what is said of problems."""
    config = StallConfig()
    paths = [folder, folder / "none.jsonl"]
    alone, together = Problems(), Problems()
    whole = analyze(read_paths(paths, problems=alone), config, details=True)

    shared = analyze_paths(paths, config, problems=together, details=True, jobs=2, piece=20_000, share=10_000)

    assert shared == whole
    assert together == alone
    assert len(whole.conversations) > 8
    assert alone.count > 4


def test_small_input_is_left_to_one(folder: Path) -> None:
    """Starting processes takes longer than reading a small file; standard input can be read once only."""
    for paths in ([folder], [folder / "d.jsonl"], ["-"]):
        assert analyze_paths(paths, StallConfig(), problems=Problems()) is None


@settings(deadline=None)  # it writes files
@given(st.integers(1, 4_000), st.lists(st.sampled_from(["line", "broken", "blank", "bom"]), min_size=1, max_size=12))
def test_pieces_read_as_the_whole(tmp_path_factory: pytest.TempPathFactory, size: int, kinds: list[str]) -> None:
    """Wherever a file is cut, its lines and the problems in them are the same."""
    content = {"line": lines([1])[0], "broken": b"{x\n", "blank": b" \n", "bom": b"\xef\xbb\xbf{}\n"}
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    path.write_bytes(b"".join(content[kind] for kind in kinds))
    whole, told_of = Problems(), Problems()
    views = list(read_paths([path], problems=whole))

    cut = pieces([path], size)

    assert cut is not None
    apart: list[SpanView] = []
    parts: list[tuple[Piece, Problems, int]] = []
    for piece in cut:
        problems = Problems()
        apart += views_of(piece, problems)
        parts.append((piece, problems, count_lines(piece)))
    told(parts, told_of)
    assert apart == views
    assert told_of == whole


def test_compressed_files_and_values_over_lines_are_one_piece(tmp_path: Path) -> None:
    """Only lines that are each a value by themselves can be read apart."""
    pretty, packed = tmp_path / "a.json", tmp_path / "b.jsonl"
    pretty.write_text(json.dumps(otlp(), indent=1))
    packed.write_bytes(b"\x1f\x8b" + b"\n" * 5_000)

    assert pieces([pretty, packed], 100) == [Piece(str(pretty)), Piece(str(packed))]


_NAMES = st.sampled_from(["", "a", "b", "c", "d", "e", "f", "g", "h"])
_READINGS = st.builds(
    lambda trace, conversation, resource, mark: Reading(
        trace,
        "s",
        "",
        "n",
        0,
        1,
        conversation=conversation,
        resource_conversation=resource,
        marks=(HostMark("m", "", 1, mark),) if mark else (),
    ),
    *[_NAMES] * 4,
)


class TestCrowds:
    @given(st.lists(_READINGS, max_size=8).flatmap(lambda given: st.tuples(st.just(given), st.permutations(given))))
    def test_are_what_hangs_together(self, both: tuple[list[Reading], list[Reading]]) -> None:
        """Two names are of one crowd where a chain of spans leads from one to the other, in any order."""
        crowds, again = Crowds(), Crowds()
        for reading, other in zip(*both, strict=True):
            crowds.join(names_of(reading))
            again.join(names_of(other))

        links = [set(names_of(reading)) for reading in both[0]]
        for _ in links:
            for names, others in combinations(links, 2):
                if names & others:
                    names.update(others)
                    others.update(names)
        for reading in both[0]:
            together = next(link for link in links if names_of(reading)[0] in link)
            everything = set().union(*links)
            for name in everything:
                assert (crowds.of(name) == crowds.of(names_of(reading)[0])) is (name in together)
                assert crowds.of(name) == again.of(name)

    def test_are_judged_apart(self) -> None:
        """The parts together are the analysis of all."""
        views = [view for number in range(6) for view in conversation(number)]
        crowds = Crowds()
        for reading in readings(views):
            crowds.join(names_of(reading))
        parts: dict[int, list[Reading]] = {}
        for reading in readings(views):
            parts.setdefault(crowds.of(names_of(reading)[0]), []).append(reading)

        assert len(parts) == 4
        config = StallConfig()
        assert joined([judge_part(part, config) for part in parts.values()], config) == analyze(views, config)

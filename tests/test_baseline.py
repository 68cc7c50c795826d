"""The baseline file: what it says of an agent, how it is read, and what it does to the levels."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from acts import Act, Named, bash, read, verdicts, write
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import lanes

from otel_stall.baseline import VERSION, Baseline, Group, SegmentMean
from otel_stall.config import DetectionConfig, StallConfig
from otel_stall.errors import ConfigError
from otel_stall.verdicts import Verdict


def group(agent: str = "coder", task_class: str | None = None, limit: int = 40, **fields: object) -> Group:
    return Group(agent, task_class, **{"runs": 20, "tasks": 19, "limit": limit, "provisional": False, **fields})  # type: ignore[arg-type]  # fields of mixed types


def baseline(*groups: Group) -> Baseline:
    return Baseline(alpha=0.05, gamma=0.95, groups=groups)


def limited(limit: int) -> StallConfig:
    """Return settings under which agents without a name may go so far without a milestone."""
    return StallConfig(baseline=baseline(group(agent="", limit=limit)))


FULL = baseline(
    group(segments=(SegmentMean(1, 12, 0.5), SegmentMean(2, 3, 0.0))),
    group(task_class="repair", limit=12, provisional=True),
    group(agent="", limit=77),
)
COUNT = st.integers(0, 10**6)
GROUPS = st.builds(
    Group,
    agent=st.text(max_size=8),
    task_class=st.none() | st.text(max_size=8),
    runs=COUNT,
    tasks=COUNT,
    limit=st.integers(1, 10**6),
    provisional=st.booleans(),
    segments=st.lists(st.builds(SegmentMean, st.integers(1, 99), st.integers(1, 99), st.floats(0, 1))).map(tuple),
)


class TestGroup:
    def test_the_nearest_group_answers(self) -> None:
        """The class of task decides; of another class the agent's own group holds; of another agent none does."""
        asked = [("coder", "repair"), ("coder", "review"), ("coder", ""), ("", "repair"), ("other", "repair")]

        found = [FULL.group(*one) for one in asked]

        assert [one and one.limit for one in found] == [12, 40, 40, 77, None]

    def test_means_by_index(self) -> None:
        """The mean of a segment that no run closed or reached is not known."""
        assert [FULL.groups[0].mean(segment) for segment in (1, 2, 3)] == [0.5, 0.0, None]


class TestFile:
    @given(groups=st.lists(GROUPS, unique_by=lambda one: (one.agent, one.task_class), max_size=4))
    def test_comes_back_as_it_was_written(self, groups: list[Group], tmp_path_factory: pytest.TempPathFactory) -> None:
        """A written baseline is read as the same baseline, whatever agents are called."""
        path, given = tmp_path_factory.mktemp("b") / "baseline.json", baseline(*groups)
        path.write_text(given.dump(), encoding="utf-8")

        found = Baseline.load(path)

        assert found == given
        assert found.dump() == given.dump()

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "is damaged: it is no JSON"),
            (FULL.dump()[:-40], "is damaged: it is no JSON"),
            ("[" * 100_000, "is damaged: it is no JSON"),
            ("[]", "is damaged: Input should be an object"),
            ("{}", "is damaged: alpha: Field required"),
            (FULL.dump().replace('"limit": 77', '"limit": 0'), "is damaged: groups.2.limit: Input should be greater"),
            (
                FULL.dump().replace('"limit": 77', '"limit": "77"'),
                "is damaged: groups.2.limit: Input should be a valid",
            ),
            (
                FULL.dump().replace('"mean": 0.5', '"mean": NaN'),
                "is damaged: groups.0.segments.0.mean: Input should be",
            ),
            (
                FULL.dump().replace('"mean": 0.5', '"mean": 1.5'),
                "is damaged: groups.0.segments.0.mean: Input should be",
            ),
            (FULL.dump().replace('"runs"', '"ruins"'), "is damaged: groups.0.runs: Field required"),
            (FULL.dump().replace('"repair"', "null"), "is damaged: an agent and task class is listed twice"),
            (FULL.dump().replace('"alpha"', '"beta": 1, "alpha"'), "is damaged: beta: Unexpected"),
            (
                json.dumps({"version": VERSION + 1, "new": []}),
                f"is of version {VERSION + 1}, this release reads {VERSION}",
            ),
        ],
    )
    def test_what_is_no_baseline_is_refused(self, text: str, problem: str, tmp_path: Path) -> None:
        """A damaged or newer file fails at once, with the setting's name, the file's, and what is wrong with it."""
        path = tmp_path / "baseline.json"
        path.write_text(text, encoding="utf-8")

        with pytest.raises(ConfigError) as raised:
            StallConfig.create({"baseline": str(path)})

        assert raised.value.field == "baseline"
        assert raised.value.problem.startswith(f"{path} {problem}")

    def test_what_cannot_be_read_is_refused(self, tmp_path: Path) -> None:
        """A missing file, a folder, bytes that are no text and a value that is no path name the setting too."""
        (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
        for wrong in (tmp_path / "missing.json", tmp_path, tmp_path / "binary", 3):
            with pytest.raises(ConfigError, match=r"^baseline: "):
                StallConfig.create({"baseline": wrong})


class TestSettings:
    def test_the_file_takes_the_place_of_the_limit(self, tmp_path: Path) -> None:
        """The limit of an agent that the file knows is the file's; of others it is the setting's."""
        path, settings = tmp_path / "baseline.json", tmp_path / "stall.yaml"
        path.write_text(FULL.dump(), encoding="utf-8")
        settings.write_text(f"baseline: {path}\ndetection: {{distance_limit: 9}}\n", encoding="utf-8")

        config = StallConfig.load(settings)

        assert config == StallConfig(baseline=FULL, detection=DetectionConfig(distance_limit=9))
        assert [config.distance_limit(agent) for agent in ("coder", "other")] == [40, 9]
        assert StallConfig().distance_limit("coder") == DetectionConfig().distance_limit

    def test_a_bad_file_in_the_environment_is_left_out(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """As any bad value of the environment it is said in the log, and the host starts without it."""
        with caplog.at_level(logging.WARNING):
            found = StallConfig.from_environ({"OTEL_STALL_BASELINE": str(tmp_path / "missing.json")})

        assert found == StallConfig()
        assert "OTEL_STALL_BASELINE is ignored" in caplog.text


def levels(found: list[Verdict]) -> list[int]:
    """Return the rank of the level after each observation that has a verdict, -1 outside any stall."""
    return [-1 if one.stall is None else one.stall.level.rank for one in found]


STUCK: list[Act] = [read("a.py", "x = 1") for _ in range(45)]
ACTS = st.lists(
    st.sampled_from(
        [
            read("a.py", "x = 1"),
            read("b.py", "y = 2"),
            write("a.py", "x = 2"),
            bash("pytest -q", "1 failed", 1),
            bash("pytest -q", "2 passed", 0),
            bash("git push", "done"),
            bash("make", "error: no rule", 2),
        ]
    ),
    min_size=20,
    max_size=60,
)


class TestLevels:
    def test_the_limit_guards_the_upper_levels(self) -> None:
        """The same stuck run reaches `abandon` where 20 steps are much, and stops at `replan` where 60 are normal."""
        found = {limit: max(levels(verdicts(STUCK, limited(limit)))) for limit in (20, 60)}

        assert found == {20: 3, 60: 1}

    def test_the_limit_never_fires_alone(self) -> None:
        """A run that goes on without any milestone and finds something new each time is no stall."""
        busy: list[Act] = [read(f"{index}.py", f"value = {index}\nname = {index * 7}") for index in range(60)]

        assert set(levels(verdicts(busy, limited(1)))) == {-1}

    @given(acts=ACTS, low=st.integers(1, 40), more=st.integers(1, 40))
    @example(acts=STUCK, low=20, more=40)
    def test_a_larger_limit_never_raises_a_level(self, acts: list[Act], low: int, more: int) -> None:
        """Whatever the run does, a baseline that allows more pushes no harder at any step."""
        strict, lenient = (levels(verdicts(acts, limited(limit))) for limit in (low, low + more))

        assert all(less <= much for less, much in zip(lenient, strict, strict=True))

    @given(acts=ACTS | lanes(), at=st.integers(0, 60), evidence=st.sampled_from(["observed", "irreversible"]))
    @example(acts=STUCK, at=25, evidence="observed")
    @example(acts=STUCK, at=25, evidence="irreversible")
    def test_one_more_verified_milestone_never_raises_a_level(self, acts: list[Act], at: int, evidence: str) -> None:
        """Where the host verifies a milestone in between, no step is pushed harder than without it."""
        without = levels([one for one in verdicts(acts, limited(10)) if one.counted])
        verified = verdicts([*acts[:at], Named("half-way", evidence), *acts[at:]], limited(10))

        found = levels([one for one in verified if one.counted])

        assert all(less <= much for less, much in zip(found, without, strict=True))

    @given(acts=ACTS | lanes(), at=st.integers(0, 60))
    def test_a_declared_milestone_changes_no_level(self, acts: list[Act], at: int) -> None:
        """What is only said is recorded, and every step is judged as without it."""
        without = levels([one for one in verdicts(acts, limited(10)) if one.counted])
        declared = verdicts([*acts[:at], Named("half-way", "declared"), *acts[at:]], limited(10))

        assert levels([one for one in declared if one.counted]) == without

"""Rules of `config`: what a user may set, and what happens to a wrong value."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from otel_stall.config import (
    BoundsConfig,
    CommandRules,
    DetectionConfig,
    MilestonesConfig,
    PressureConfig,
    StallConfig,
    ToolRules,
)
from otel_stall.errors import ConfigError


class TestDefaults:
    def test_are_those_of_the_documentation(self) -> None:
        """The ladder of the dry streak and of the waste score, and the rules beside them."""
        d = DetectionConfig()

        assert (d.dry_notice, d.dry_replan, d.dry_ask_user, d.dry_abandon) == (6, 12, 18, 30)
        assert (d.waste_notice, d.waste_replan, d.waste_ask_user, d.waste_abandon) == (5, 12, 18, 30)
        assert (d.loop_notice, d.loop_replan, d.flat_notice, d.flat_replan) == (3, 6, 6, 9)
        assert (d.amnesia_steps, d.thin_notice, d.distance_limit) == (3, 3, 30)

    @pytest.mark.parametrize(
        "model", [StallConfig, DetectionConfig, BoundsConfig, MilestonesConfig, PressureConfig, ToolRules, CommandRules]
    )
    def test_every_setting_is_described(self, model: type[BaseModel]) -> None:
        """Each field says its effect and unit."""
        nested = {"detection", "bounds", "milestones", "pressure"}

        assert [
            name for name, field in model.model_fields.items() if not field.description and name not in nested
        ] == []

    def test_settings_cannot_be_changed(self) -> None:
        """A running processor's settings are those it was started with."""
        with pytest.raises(ValidationError):
            StallConfig().enabled = False  # type: ignore[misc]  # this is what is refused


class TestCreate:
    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"detection": {"dry_notice": 0}}, "detection.dry_notice"),
            ({"detection": {"thin_unseen": 1.5}}, "detection.thin_unseen"),
            ({"detection": {"nonsense": 1}}, "detection.nonsense"),
            ({"nonsense": 1}, "nonsense"),
            ({"bounds": {"lines": "many"}}, "bounds.lines"),
            ({"bounds": {"idle_seconds": float("nan")}}, "bounds.idle_seconds"),
            ({"bounds": {"idle_seconds": float("inf")}}, "bounds.idle_seconds"),
            ({"bounds": 3}, "bounds"),
            ({"milestones": {"tools": {"irreversible": ["deploy", "*"]}}}, "milestones.tools.irreversible.1"),
            ({"milestones": {"tools": {"checks": ["run tests"]}}}, "milestones.tools.checks.0"),
            ({"milestones": {"tools": {"never": [3]}}}, "milestones.tools.never.0"),
            ({"milestones": {"commands": {"irreversible": ["a && b"]}}}, "milestones.commands.irreversible.0"),
            ({"milestones": {"commands": {"nonsense": []}}}, "milestones.commands.nonsense"),
            ({"milestones": {"tools": {"never": ["x"], "checks": ["x"]}}}, "milestones.tools"),
            ({"milestones": {"tools": {"never": ["x"] * 201}}}, "milestones.tools.never"),
            ({"milestones": {"irreversible": "perhaps"}}, "milestones.irreversible"),
        ],
    )
    def test_a_wrong_value_fails_with_its_name(self, values: dict[str, object], field: str) -> None:
        """A mistake is found at start-up, and named as the user wrote it."""
        with pytest.raises(ConfigError) as caught:
            StallConfig.create(values)

        assert caught.value.field == field

    def test_texts_are_read_as_values(self) -> None:
        """Numbers and truth values may come as text."""
        found = StallConfig.create({"enabled": "false", "detection": {"dry_notice": "8"}})

        assert found == StallConfig(enabled=False, detection=DetectionConfig(dry_notice=8))


class TestEnvironment:
    def test_sets_any_field(self) -> None:
        """The variable is the field's path in capitals."""
        environ = {
            "OTEL_STALL_ENABLED": "false",
            "OTEL_STALL_DETECTION_DRY_NOTICE": " 8 ",
            "OTEL_STALL_BOUNDS_CALLS": "",
        }

        assert StallConfig.from_environ(environ) == StallConfig(enabled=False, detection=DetectionConfig(dry_notice=8))

    @pytest.mark.parametrize("value", ["x", "0", "-1", "1e99999", "nan"])
    def test_a_bad_value_is_logged_and_left_out(self, value: str, caplog: pytest.LogCaptureFixture) -> None:
        """A wrong variable never keeps the host from starting; its value is not shown."""
        with caplog.at_level(logging.WARNING):
            found = StallConfig.from_environ({"OTEL_STALL_DETECTION_DRY_NOTICE": value})

        assert found == StallConfig()
        assert "OTEL_STALL_DETECTION_DRY_NOTICE is ignored" in caplog.text

    def test_names_a_file(self, tmp_path: Path) -> None:
        """`OTEL_STALL_CONFIG` names a file; its settings come before the variables."""
        path = tmp_path / "stall.yaml"
        path.write_text("detection:\n  dry_notice: 7\n", encoding="utf-8")
        environ = {
            "OTEL_STALL_CONFIG": str(path),
            "OTEL_STALL_DETECTION_DRY_NOTICE": "8",
            "OTEL_STALL_DETECTION_DRY_REPLAN": "14",
        }

        expected = DetectionConfig(dry_notice=7, dry_replan=14)
        assert StallConfig.from_environ(environ) == StallConfig(detection=expected)

    def test_options_come_before_all(self, tmp_path: Path) -> None:
        """What code gives goes before a file, and this before variables; nested settings are joined."""
        path = tmp_path / "stall.yaml"
        path.write_text("preset: minimal\ndetection:\n  dry_notice: 7\n  dry_replan: 13\n", encoding="utf-8")
        environ = {"OTEL_STALL_CONFIG": str(path), "OTEL_STALL_MODE": "events_only", "OTEL_STALL_PRESET": "full"}

        found = StallConfig.from_environ(environ, {"detection": {"dry_notice": 9}, "stamp": False})

        expected = DetectionConfig(dry_notice=9, dry_replan=13)
        assert found == StallConfig(mode="events_only", preset="minimal", stamp=False, detection=expected)

    @pytest.mark.parametrize(("text", "value"), [("true", True), ("0", False), ("no", False)])
    def test_truth_values(self, text: str, value: bool) -> None:
        """A switch that has three states is set by the usual words."""
        assert StallConfig.from_environ({"OTEL_STALL_STAMP": text}).stamp is value

    def test_lists_are_parted_by_commas(self) -> None:
        """Patterns in a variable, at any depth of the settings."""
        environ = {
            "OTEL_STALL_MILESTONES_TOOLS_NEVER": "exchange_rate, *_draft,",
            "OTEL_STALL_MILESTONES_COMMANDS_IRREVERSIBLE": "make ship",
            "OTEL_STALL_MILESTONES_IRREVERSIBLE": "false",
        }

        assert StallConfig.from_environ(environ).milestones == MilestonesConfig(
            tools=ToolRules(never=("exchange_rate", "*_draft")),
            commands=CommandRules(irreversible=("make ship",)),
            irreversible=False,
        )

    def test_a_bad_pattern_is_logged_and_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        """In a variable, as any bad value."""
        with caplog.at_level(logging.WARNING):
            found = StallConfig.from_environ({"OTEL_STALL_MILESTONES_TOOLS_NEVER": "*"})

        assert found == StallConfig()
        assert "OTEL_STALL_MILESTONES_TOOLS_NEVER is ignored: '*' needs a letter or a digit" in caplog.text


class TestFile:
    @pytest.mark.parametrize("text", ["", "# nothing set\n", "{}"])
    def test_an_empty_file_sets_nothing(self, text: str, tmp_path: Path) -> None:
        """A file without settings gives the defaults."""
        path = tmp_path / "stall.yaml"
        path.write_text(text, encoding="utf-8")

        assert StallConfig.load(path) == StallConfig()

    @pytest.mark.parametrize(
        ("text", "field"),
        [("- 1\n", "stall.yaml"), ("a: [", "stall.yaml"), ("detection: {dry_notice: 0}", "detection.dry_notice")],
    )
    def test_a_broken_file_fails_with_its_name(self, text: str, field: str, tmp_path: Path) -> None:
        """What is no mapping of settings is refused at start-up."""
        path = tmp_path / "stall.yaml"
        path.write_text(text, encoding="utf-8")

        with pytest.raises(ConfigError) as caught:
            StallConfig.load(path)
        assert caught.value.field.endswith(field)

    def test_a_missing_or_unreadable_file(self, tmp_path: Path) -> None:
        """A file that is not there, or no text, is a mistake in the settings."""
        binary = tmp_path / "binary.yaml"
        binary.write_bytes(b"\xff\xfe\x00a")

        for path in (tmp_path / "missing.yaml", binary):
            with pytest.raises(ConfigError):
                StallConfig.load(path)

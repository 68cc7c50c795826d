"""The page in a browser: what it claims, how it is found through, and that it asks for nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import bodies
import pytest
from axe_playwright_python.sync_playwright import Axe
from opened import browser, opened
from playwright.sync_api import Browser, Page
from reports import Report, reported

from otel_stall.demo import run

SHAPES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    with browser() as started:
        yield started


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of the demo."""
    folder = tmp_path_factory.mktemp("demo")
    with (folder / "said.txt").open("w") as said:
        run(folder / "spans.jsonl", pause=0, stream=said)
    return reported(folder / "spans.jsonl", folder)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of 300 conversations, a third of them stalled."""
    folder = tmp_path_factory.mktemp("many")
    bodies.write(folder / "spans.jsonl", conversations=300, steps=20)
    return reported(folder / "spans.jsonl", folder)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of one conversation whose names try to be markup, script and control sequences."""
    folder = tmp_path_factory.mktemp("hostile")
    bodies.write(folder / "spans.jsonl", conversations=1, steps=20, name=bodies.HOSTILE)
    return reported(folder / "spans.jsonl", folder)


@pytest.fixture(scope="session")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of traces without a tool call."""
    folder = tmp_path_factory.mktemp("nothing")
    bodies.write(folder / "spans.jsonl", conversations=1, steps=0)
    return reported(folder / "spans.jsonl", folder)


def figures(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-figure]')].map(one => "
        "[one.dataset.figure, one.textContent]))"
    )
    return found


def ids(page: Page) -> list[str]:
    found: list[str] = page.locator("#rows tbody th a").all_inner_texts()
    return found


def waited(holds: Callable[[], bool], seconds: float = 5) -> None:
    """Wait until it holds: the page's policy lets a browser evaluate no text that could wait inside."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("report", ["demo", "many", "hostile", "nothing"])
class TestEveryReport:
    @pytest.mark.parametrize(("width", "scheme"), SHAPES)
    def test_it_opens_in_silence(
        self, report: str, width: int, scheme: str, chromium: Browser, request: pytest.FixtureRequest
    ) -> None:
        """No error, no warning, no request, and nothing that is wider than the window, in every shape."""
        made: Report = request.getfixturevalue(report)
        with opened(chromium, made.path, width=width, scheme=scheme) as (page, heard):
            wide = page.evaluate("document.documentElement.scrollWidth")
        assert (heard.complaints, heard.requests) == ([], [])
        assert wide == width

    @pytest.mark.parametrize(("width", "scheme"), SHAPES)
    def test_everybody_can_use_it(
        self, report: str, width: int, scheme: str, chromium: Browser, request: pytest.FixtureRequest
    ) -> None:
        """axe-core finds nothing at all: no missing name, no weak contrast, nothing that a keyboard cannot reach."""
        made: Report = request.getfixturevalue(report)
        with opened(chromium, made.path, width=width, scheme=scheme) as (page, _):
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            found = Axe().run(page).response["violations"]
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found] == []

    def test_its_claims_are_those_of_the_json(
        self, report: str, chromium: Browser, request: pytest.FixtureRequest
    ) -> None:
        """Each figure of the overview, read from the page as a person sees it, is the JSON document's."""
        made: Report = request.getfixturevalue(report)
        with opened(chromium, made.path) as (page, _):
            shown = figures(page)
        assert shown == {name: text for name, text in claimed(made.document["summary"]).items() if name in shown}
        assert {"conversations", "stalled", "stalled_steps", "input_tiers_silent"} <= shown.keys()


def claimed(summary: dict[str, Any]) -> dict[str, str]:
    """Return the figures of a JSON summary as the page has to write them."""
    measured = summary["measurement"]
    named = {
        "conversations": summary["conversations"],
        "stalled": summary["stalled"],
        "stalled_steps": summary["stalled_steps"],
        "stalled_tokens": measured["any"]["tokens"] and measured["any"]["tokens"]["count"],
        "input_tiers_silent": measured["any"]["input_tiers_silent"] and summary["input_tiers_silent"],
        "with_milestone": measured["partial_progress"] and summary["partial_progress"]["with_milestone"],
    }
    for kind, share in {**measured["kinds"], "any kind": measured["any"]}.items():
        for measure in ("conversations", "steps", "tokens"):
            if share is not None and share[measure] is not None:
                named[f"{kind}.{measure}"] = share[measure]["count"]
    return {name: "not measurable" if value is None else f"{value:,}" for name, value in named.items()}


class TestTable:
    def test_all_that_is_in_the_json_is_listed(self, many: Report, chromium: Browser) -> None:
        """Every conversation of the document has a row, with its steps and the steps inside stalls."""
        with opened(chromium, many.path, "#size=all&sort=id") as (page, _):
            rows = page.locator("#rows tbody tr").evaluate_all(
                "rows => rows.map(row => [...row.children].map(cell => cell.innerText))"
            )
        shown = {row[0]: (number(row[3]), number(row[7]) if row[7] else 0) for row in rows}
        assert shown == {one["id"]: (one["steps"], one["stalled_steps"]) for one in many.document["conversations"]}

    def test_a_person_filters_by_what_stalled(self, many: Report, chromium: Browser) -> None:
        """The filters leave the rows of that kind, level and name, say how many, and stand in the address."""
        stalled = [one for one in many.document["conversations"] if one["stalls"]]
        wanted = [one["id"] for one in stalled if one["agent"] == "coder"]
        assert 0 < len(wanted) < len(many.document["conversations"])
        with opened(chromium, many.path) as (page, _):
            page.select_option("#filter-kind", "no_gradient")
            page.select_option("#filter-show", "silent")
            page.fill("#filter-q", "CODER")
            waited(lambda: "q=CODER" in page.evaluate("location.hash"))
            said = page.locator("#found").inner_text()
            assert page.evaluate("location.hash") == "#q=CODER&kind=no_gradient&show=silent"
        assert said.startswith(f"{len(wanted)} of 300 conversations")

    def test_a_view_can_be_linked(self, many: Report, chromium: Browser) -> None:
        """An address shows the rows, the run and the step that it names."""
        one = next(one for one in many.document["conversations"] if not one["stalls"])
        with opened(chromium, many.path, f"#show=healthy&run={one['id']}&step=7") as (page, _):
            assert page.locator("#conversation-title").inner_text() == f"Conversation {one['id']}"
            assert page.locator(".inspected b").first.inner_text().strip() == "Step 7"
            assert page.locator("#rows .chip").count() == 0
            assert page.input_value("#filter-show") == "healthy"

    def test_a_head_sorts(self, many: Report, chromium: Browser) -> None:
        """A head sorts by its column, once more the other way, and says so to a screen reader."""
        with opened(chromium, many.path) as (page, _):
            for order, first in (("ascending", "run-00000"), ("descending", "run-00299")):
                page.locator("#sort-id").press("Enter")
                assert ids(page)[0] == first
                assert page.locator("th[aria-sort]").get_attribute("aria-sort") == order
                assert page.evaluate("document.activeElement.id") == "sort-id"

    def test_going_back_shows_what_was_before(self, many: Report, chromium: Browser) -> None:
        """The browser's back button goes from a run to the one before it."""
        with opened(chromium, many.path) as (page, _):
            before = page.locator("#conversation-title").inner_text()
            page.locator("#rows tbody a").nth(3).click()
            waited(lambda: page.locator("#conversation-title").inner_text() != before)
            assert page.evaluate("document.activeElement.id") == "conversation-title"
            page.go_back()
            waited(lambda: page.locator("#conversation-title").inner_text() == before)

    def test_pages_turn(self, many: Report, chromium: Browser) -> None:
        """Twenty rows a page; the last page ends with the last row."""
        with opened(chromium, many.path, "#sort=id&page=15") as (page, _):
            assert ids(page)[-1] == "run-00299"
            assert page.get_by_role("button", name="Next").is_disabled()
            page.get_by_role("button", name="Previous").click()
            assert ids(page)[-1] == "run-00279"

    @pytest.mark.parametrize(
        "fragment", ["#page=x&size=-3&sort=nothing&level=nothing", "#run=unknown", "#%", "#step=9e9"]
    )
    def test_a_wrong_address_does_no_harm(self, fragment: str, many: Report, chromium: Browser) -> None:
        """Whatever stands after the "#", there is a table, and no error."""
        with opened(chromium, many.path, fragment) as (page, heard):
            assert page.locator("#rows tbody tr").count() > 0
        assert heard.complaints == []


class TestTimeline:
    def test_the_keyboard_goes_from_step_to_step(self, demo: Report, chromium: Browser) -> None:
        """The slider takes the arrow keys; each step is told with what it gained and why."""
        details = {one["step"]: one for one in demo.document["conversations"][0]["steps_detail"]}
        with opened(chromium, demo.path, "#step=1") as (page, _):
            for step in range(2, 7):
                page.locator("#step").press("ArrowRight")
                told = page.locator(".inspected").inner_text()
                assert told.startswith(f"Step {step} {details[step]['tool']}")
                assert details[step]["call_fingerprint"] in told
                assert f"Step {step}:" in (page.locator("#step").get_attribute("aria-valuetext") or "")

    def test_a_step_that_gained_nothing_says_why(self, demo: Report, chromium: Browser) -> None:
        """A step without gain has its reason as a sentence."""
        stall = demo.document["conversations"][0]["stalls"][0]
        with opened(chromium, demo.path, f"#step={stall['detected_step']}") as (page, _):
            assert "gained nothing: " in page.locator(".inspected").inner_text()

    def test_a_click_chooses_the_step_under_it(self, demo: Report, chromium: Browser) -> None:
        """A click into the picture shows the step there, and the address names it."""
        with opened(chromium, demo.path) as (page, _):
            box = page.locator(".timeline").bounding_box()
            assert box is not None
            page.locator(".timeline").click(position={"x": 40 + (box["width"] - 66) / 2, "y": 120})
            assert re.search(r"step=2[67]$", page.url)

    def test_pointing_tells_the_step(self, demo: Report, chromium: Browser) -> None:
        """Under the pointer the step is told, without a click."""
        with opened(chromium, demo.path) as (page, _):
            page.locator(".timeline").hover(position={"x": 60, "y": 120})
            page.wait_for_selector(".timeline .hint")
            assert page.locator(".timeline .hint").inner_text().startswith("Step 1 ")

    def test_the_picture_is_told_to_those_who_do_not_see_it(self, demo: Report, chromium: Browser) -> None:
        """Stalls, levels, milestones and compactions are the text of the picture."""
        lane = demo.document["conversations"][0]
        with opened(chromium, demo.path) as (page, _):
            said = page.locator(".timeline").get_attribute("aria-label") or ""
        for stall in lane["stalls"]:
            assert f"{stall['kind']} from step {stall['first_step']} to {stall['last_step']}" in said
        for milestone in lane["milestones"]:
            assert f"{milestone['name']} at step {milestone['step']}" in said
        assert "Compactions after step" in said

    def test_a_step_leads_to_its_span(self, demo: Report, chromium: Browser) -> None:
        """The link is the template with the ids of that step's span."""
        step = demo.document["conversations"][0]["steps_detail"][4]
        with opened(chromium, demo.path, "#step=5") as (page, _):
            to = page.get_by_role("link", name="open the span").get_attribute("href")
        assert to == f"http://localhost:16686/trace/{step['trace_id']}?uiFind={step['span_id']}"

    def test_all_steps_are_a_table_too(self, demo: Report, chromium: Browser) -> None:
        """Who cannot use the picture opens a table with every step."""
        lane = demo.document["conversations"][0]
        with opened(chromium, demo.path) as (page, _):
            page.get_by_text("steps as a table").click()
            page.wait_for_selector("table.steps")
            assert page.locator("table.steps tbody tr").count() == lane["steps"]

    def test_colours_follow_the_system(self, demo: Report, chromium: Browser) -> None:
        """A switch from light to dark changes page and picture at once, and paper is always light."""
        pixel = """() => { const c = document.querySelector('.timeline canvas');
            return [...c.getContext('2d').getImageData(c.width * 0.2, c.height * 0.36, 1, 1).data].join(); }"""
        with opened(chromium, demo.path) as (page, _):
            light = page.evaluate(pixel)
            page.emulate_media(color_scheme="dark")
            waited(lambda: page.evaluate(pixel) != light)
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert page.evaluate(pixel) == light
            page.evaluate("dispatchEvent(new Event('afterprint'))")
            assert page.evaluate(pixel) != light

    def test_it_prints(self, demo: Report, chromium: Browser) -> None:
        """The page becomes a few sheets of paper without what only a screen can use."""
        with opened(chromium, demo.path) as (page, heard):
            page.emulate_media(media="print")
            assert not page.locator(".filters").is_visible()
            assert page.locator(".timeline").is_visible()
            assert page.pdf(format="A4").startswith(b"%PDF")
        assert heard.complaints == []


def test_hostile_names_are_text(hostile: Report, chromium: Browser) -> None:
    """Markup in names is shown as it is written; nothing of it runs, and what would hide or reorder is replaced."""
    with opened(chromium, hostile.path) as (page, heard):
        page.get_by_text("steps as a table").click()
        page.wait_for_selector("table.steps")
        assert page.locator("img, iframe, object").count() == 0
        text = page.locator("body").inner_text()
    assert heard.complaints == []
    assert "<img src=x onerror=alert(2)>" in text
    assert "\u202e" not in text
    assert "\x1b" not in text

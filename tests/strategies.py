"""Hypothesis strategies for what an agent does: few tools, few texts, so that calls repeat and stalls occur."""

from __future__ import annotations

from acts import (
    Act,
    Named,
    NewRun,
    bash,
    call,
    compacted,
    edit,
    green,
    hinted,
    numbered,
    read,
    red,
    said,
    search,
    write,
)
from hypothesis import strategies as st

from otel_stall.calls import Capture, Content, ModelCall, ToolCall
from otel_stall.config import StallConfig

_NAMES = st.sampled_from(["a.py", "b.py", "src/c.py"])
_FAILURES = st.sampled_from(["E KeyError: x\n1 failed", "E KeyError: x\n2 failed", "E ValueError: y\n2 failed", "boom"])
_TEXTS = st.sampled_from(["total = 1", "total = 2", numbered("module"), numbered("module", 10, 12), ""])
_WORDS = st.sampled_from(
    ["river flood walls town", "town river flood walls", "flood walls river town cost", "something else entirely"]
)
_FOUND = st.sampled_from(
    [
        "The river floods every spring and the lower town has built walls along its banks since the war.",
        "The river floods every spring and the lower town has built walls along its banks since last year.",
        "Bread prices rose in the north while the harvest of the south was better than anyone had hoped.",
    ]
)


def looks() -> st.SearchStrategy[ToolCall]:
    """Return reads and searches that often show what was shown before."""
    windows = st.sampled_from([{}, {"offset": 1, "limit": 10}, {"offset": 11, "limit": 10}])
    return st.one_of(
        st.builds(lambda path, text, window: read(path, text, **window), _NAMES, _TEXTS, windows),
        st.builds(lambda path, text: bash(f"cat {path}", text), _NAMES, _TEXTS),
        st.builds(lambda path: bash(f"grep -n total {path}", "", 1), _NAMES),
        st.builds(search, _WORDS, _FOUND),
    )


def changes() -> st.SearchStrategy[ToolCall]:
    """Return edits, of which some lead back and some do nothing."""
    values = st.sampled_from(["1", "2", "3"])
    return st.one_of(
        st.builds(edit, _NAMES, values, values),
        st.builds(edit, _NAMES, values, values, st.just("No replacement was performed.")),
        st.builds(write, _NAMES, values),
        st.builds(lambda path: bash(f"git checkout -- {path}", "Updated 1 path"), _NAMES),
        st.just(bash("git commit -am x", "[main 1a2b3c] x\n 1 file changed")),
    )


def calls() -> st.SearchStrategy[ToolCall]:
    """Return tool calls of every effect."""
    return st.one_of(
        looks(),
        changes(),
        st.builds(red, _FAILURES),
        st.just(green()),
        st.just(call("wait_for_job", {"id": 1}, "status: running")),
        st.just(call("update_plan", {"plan": [{"step": "look", "status": "pending"}]}, "ok")),
        st.builds(lambda text: call("think", {"thought": text}, "ok"), _WORDS),
        st.builds(lambda n: call("get_user", {"id": n}, f"Error: user {n} is gone", failed=True), st.integers(1, 3)),
        st.builds(lambda n: call("frobnicate", {"n": n}), st.integers(1, 2)),
        st.just(call("finish", {}, "ok")),
        st.just(bash("echo done", "done")),
        st.just(hinted(call("get_user", {"id": 9}, "503", failed=True), infra=True)),
        st.builds(lambda state: hinted(call("save_form", {}, "ok"), state_after=state), st.sampled_from("xyz")),
    )


def events() -> st.SearchStrategy[Act]:
    """Return what is no tool call: compactions, user turns, model turns, run boundaries, the host's milestones."""
    return st.one_of(
        st.just(compacted()),
        st.builds(said, st.sampled_from(["I will look.", "I will go on."]), st.sampled_from([None, 1, 2])),
        st.builds(ModelCall, compacted=st.booleans(), input_tokens=st.sampled_from([None, 1_000, 90_000])),
        st.just(NewRun()),
        st.builds(Named, st.sampled_from(["paid", "sent"]), st.sampled_from(["observed", "irreversible", "declared"])),
    )


@st.composite
def lanes(draw: st.DrawFn, most: int = 60) -> list[Act]:
    """Return what one agent does: stretches of few distinct acts that repeat, with events between them."""
    acts: list[Act] = []
    for _ in range(draw(st.integers(1, 5))):
        chosen = draw(st.lists(calls(), min_size=1, max_size=3))
        acts.extend(chosen * draw(st.integers(1, 9)))
        if draw(st.booleans()):
            acts.extend([draw(events())] * draw(st.integers(1, 3)))
    return acts[:most]


def contents() -> st.SearchStrategy[Content]:
    """Return content of any JSON value, captured or not."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
    return st.builds(Content, values, st.sampled_from(Capture))


def any_calls() -> st.SearchStrategy[ToolCall]:
    """Return calls of known and unknown tools with any content."""
    tools = (
        st.sampled_from(["bash", "read_file", "write_file", "str_replace", "web_search", "todo_write", "x"]) | st.text()
    )
    return st.builds(
        ToolCall,
        tools,
        contents(),
        contents(),
        failed=st.none() | st.booleans(),
        exit_code=st.none() | st.integers(-1, 255),
        call_id=st.sampled_from(["", "1", "2"]),
        pending=st.booleans(),
    )


SMALL = StallConfig.create({"bounds": {"conversations": 8, "lines": 64, "calls": 16, "open_spans": 16}})
"""Settings under which every bound is met soon."""

"""The page on hosts lists every host as the rules have it, and every row of a host has a place in it."""

from __future__ import annotations

from pathlib import Path

from pages import assert_holds

from otel_stall.dialects.coding_agents import CODING_AGENTS
from otel_stall.dialects.frameworks import FRAMEWORKS
from otel_stall.dialects.known_hosts import HOSTS, Host, host_of, role_names
from otel_stall.dialects.rules import DIALECTS
from otel_stall.dialects.switches import content_switch
from otel_stall.dialects.table import Role

PAGE = Path(__file__).parent.parent / "docs/hosts.md"

_READ = ((Role.TOOL, "calls"), (Role.COMPACTION, "compactions"), (Role.USER, "turns of the user"), (Role.HINT, "signs"))


def _names(host: Host) -> str:
    told = []
    for role, word in _READ:
        if names := role_names(host, role):
            told.append(f"{word}: {', '.join(f'`{name}`' for name in names)}")
    return "; ".join(told) or "by their attributes"


def table() -> str:
    """Return the table of hosts as the page shows it."""
    rows = [
        "| host | version | needs | what is read by name | switch on | what each brings |",
        "|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {host.name} | {host.checked} | {', '.join(host.needs)} | {_names(host)} | {host.switch} | {host.lost} |"
        for host in HOSTS
    ]
    return "\n".join(rows)


def test_hosts_are_those_of_the_table() -> None:
    """The page's table is generated from the one table of hosts and the rows of the dialects."""
    assert_holds(PAGE, "hosts", table())


def test_every_row_of_a_host_is_listed() -> None:
    """No row for a host without an entry on the page, and no entry that names a row which is not there."""
    named = {name for host in HOSTS for name in host.dialects}

    assert {row.name for row in (*CODING_AGENTS, *FRAMEWORKS)} - named == set()
    assert named - {row.name for row in DIALECTS} == set()


def test_scopes_of_rows_and_hosts_agree() -> None:
    """A scope that a row is asked for is that of the host which names the row first."""
    found = {
        row.name: {host.dialects[0] for scope in row.scopes if (host := host_of(scope)) is not None}
        for row in (*CODING_AGENTS, *FRAMEWORKS)
        if row.scopes
    }

    assert found == {name: {name} for name in found}


def test_a_host_has_one_switch() -> None:
    """What the advice on contents says for a host's scope is what the page says."""
    scopes = {host.scopes[0]: host.switch for host in HOSTS if host.scopes}

    assert {scope: content_switch(scope) for scope in scopes} == scopes


def test_a_foreign_scope_is_no_hosts() -> None:
    """Short names of scopes do not claim what merely begins so."""
    assert [host_of(scope) for scope in ("airflow.agents", "", "my.codex")] == [None, None, None]

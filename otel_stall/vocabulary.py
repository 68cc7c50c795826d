"""The words by which shell commands and tools are recognised; data only, read by `commands` and `effects`."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS: Final = _words(
    """
    ! ( command do elif else env exec if nice nohup stdbuf sudo then time unbuffer until while xargs
    xvfb-run {
    """
)
"""Commands that run another one and take no value of their own, and the shell's words before a command."""

WRAPPERS_WITH_VALUE: Final = _words(
    """
    chrt taskset timeout
    """
)
"""Commands that run another one after a value."""

RUNNERS: Final = _words(
    """
    bundle bunx conda hatch npx pdm pipenv pnpx poetry rye uv
    """
)
"""Tools that run a command in an environment."""

NOTHING: Final = _words(
    """
    . : alias case cd clear done echo esac exit export false fi for popd printf pushd pwd select set shopt
    source true ulimit umask unset } )
    """
)
"""Shell words that neither look nor change anything outside the shell."""

READS: Final = _words(
    """
    [ awk basename bat cat cksum cmp column cut date df diff dir dirname du env exiftool file free
    gawk getent head hexdump history hostname id identify info jq ldd less locale ls lscpu lsof man
    md5sum more netstat nl nm nproc objdump od pgrep printenv ps readelf readlink realpath sed
    sha1sum sha256sum sort ss stat strings tac tail test top tr tree type uname uniq uptime wc
    whereis which whoami xmllint xxd yq zcat
    """
)
"""Commands that only show something."""

SEARCHES: Final = _words(
    """
    ack ag ast-grep egrep fd fgrep find grep locate rg zgrep
    """
)
"""Commands that look for something."""

WRITES: Final = _words(
    """
    apply_patch chmod chown cp dd gunzip gzip install ln mkdir mv patch rm rmdir rsync shred split
    tee touch truncate unzip zip
    """
)
"""Commands that change files."""

REMOVES: Final = _words(
    """
    chmod chown mkdir rm rmdir shred touch
    """
)
"""Writing commands that leave no content which could be new."""

WAITS: Final = _words(
    """
    sleep wait
    """
)
"""Commands that wait."""

GIT_READS: Final = _words(
    """
    bisect blame branch cat-file config count-objects describe diff fetch help log ls-files
    ls-remote ls-tree merge-base name-rev reflog remote rev-list rev-parse shortlog show status tag
    var version whatchanged
    """
)
"""Subcommands of git that only show."""

GIT_REVERTS: Final = _words(
    """
    checkout clean reset restore revert stash
    """
)
"""Subcommands of git that take changes back."""

PACKAGE_TOOLS: Final = _words(
    """
    bun composer gradle just make npm pnpm rake task yarn
    """
)
"""Tools that run a script or target by its name."""

CHECK_WORDS: Final = _words(
    """
    assemble build check ci clippy compile e2e fmt-check integration lint package spec t test tests
    type-check typecheck types unit validate verify vet
    """
)
"""Names of scripts and targets that check something."""

CHECKS: Final = _words(
    """
    ava bandit bats biome cc clang ctest cypress eslint flake8 g++ gcc golangci-lint hadolint javac jest karma ktlint
    luacheck mocha msbuild mypy ninja nosetests nox phpunit pre-commit prove py.test pylint pyre
    pyright pytest rspec rubocop ruff rustc shellcheck staticcheck stylelint tap tox tsc vitest
    xcodebuild yamllint runtests.py run_tests.py
    """
)
"""Commands that test, lint, build or type-check."""

CHECK_SUBCOMMANDS: Final = {
    "go": _words("build test vet"),
    "cargo": _words("bench build check clippy nextest test"),
    "mvn": _words("compile install package test test-compile verify"),
    "mvnw": _words("compile install package test verify"),
    "gradle": _words("assemble build check test"),
    "gradlew": _words("assemble build check test"),
    "dotnet": _words("build test"),
    "bazel": _words("build test"),
    "swift": _words("build test"),
    "mix": _words("compile credo test"),
    "deno": _words("check lint test"),
    "cmake": _words("--build"),
    "python": _words("compileall flake8 mypy py_compile pytest ruff tox unittest"),
    "zig": _words("build test"),
    "sbt": _words("compile test"),
    "lein": _words("test"),
    "stack": _words("build test"),
    "cabal": _words("build test"),
    "terraform": _words("validate"),
}
"""Commands that check with these subcommands only."""

IRREVERSIBLE_SUBCOMMANDS: Final = {
    "git": ("commit", "push"),
    "gh": ("issue comment", "issue create", "pr comment", "pr create", "pr merge", "release create"),
    "glab": ("mr create", "mr merge", "release create"),
    "npm": ("publish",),
    "yarn": ("publish",),
    "pnpm": ("publish",),
    "cargo": ("publish",),
    "twine": ("upload",),
    "gem": ("push",),
    "mvn": ("deploy",),
    "publish": ("",),
    "docker": ("push",),
    "podman": ("push",),
    "kubectl": ("apply", "create", "delete", "rollout", "scale"),
    "helm": ("install", "uninstall", "upgrade"),
    "terraform": ("apply", "destroy"),
    "flyctl": ("deploy",),
    "fly": ("deploy",),
    "vercel": ("deploy",),
    "netlify": ("deploy",),
    "gcloud": ("deploy",),
    "serverless": ("deploy",),
    "firebase": ("deploy",),
    "wrangler": ("deploy", "publish"),
    "pulumi": ("destroy", "up"),
    "cdk": ("deploy", "destroy"),
    "sam": ("deploy",),
    "mail": ("",),
    "sendmail": ("",),
}
"""Commands whose effect leaves the machine or cannot be taken back, by subcommand; "" = always.

`publish` is what `uv publish` and `poetry publish` run.
"""

RELEASE_SCRIPTS: Final = _words(
    """
    deploy publish release
    """
)
"""Scripts and targets, by whole name, that leave the machine: `make release`, `npm run deploy`."""

SHELL_TOOLS: Final = _words(
    """
    bash bash_tool cmd command computer_terminal console exec exec_command execute_bash
    execute_command local_shell powershell run_command run_in_terminal run_shell_command
    run_terminal_cmd sh shell shell_command shell_tool terminal
    """
)
"""Tools, by whole name, whose argument is a shell command."""

READ_VERBS: Final = _words(
    """
    cat check describe download fetch get head info inspect list load look lookup ls open peek read
    retrieve show stat status tail view
    """
)
"""First words of tools that look at one thing."""

SEARCH_VERBS: Final = _words(
    """
    browse discover explore find glob grep locate query rg scan search
    """
)
"""First words of tools that look for something."""

WRITE_VERBS: Final = _words(
    """
    add advance append apply assign book cancel change configure create delete edit exchange insert
    install make mkdir modify move patch put register remove rename replace reserve return save set
    store str undo update upload upsert write
    """
)
"""First words of tools that change something."""

IRREVERSIBLE_VERBS: Final = _words(
    """
    approve_payment book buy cancel checkout commit deploy exchange execute_trade merge order pay
    publish purchase push refund release return send_payment submit_order terminate transfer wire
    withdraw
    """
)
"""First words of tools whose effect cannot be undone."""

IRREVERSIBLE_TOOLS: Final = _words(
    """
    create_merge_request create_mr create_pr create_pull_request create_release open_pr open_pull_request
    submit_pr submit_pull_request
    """
)
"""Tools, by whole name, whose effect cannot be undone though their first word tells less."""

MESSAGE_VERBS: Final = _words(
    """
    announce comment dm email message notify post reply respond send slack sms tweet
    """
)
"""First words of tools that say something to somebody."""

WAIT_VERBS: Final = _words(
    """
    await pause poll sleep wait
    """
)
"""First words of tools that wait."""

NOTE_TOOLS: Final = _words(
    """
    exit_plan_mode manage_todo_list memory note notes plan planner progress remember report_progress
    save_memory scratchpad set_plan task_tracker todo todo_read todo_write todoread todos todowrite
    update_memory update_plan update_progress update_todo_list update_todos write_memory write_note
    write_todo write_todos
    """
)
"""Tools, by whole name, for plans, to-do lists, memories and progress notes."""

THINK_TOOLS: Final = _words(
    """
    brainstorm ponder reason reflect sequential_thinking sequentialthinking think thinking thought
    """
)
"""Tools, by whole name, in which the model only thinks."""

DONE_TOOLS: Final = _words(
    """
    attempt_completion complete complete_task done end_task final_answer final_result finish
    finish_task return_result submit submit_answer task_complete task_done
    """
)
"""Tools, by whole name, by which the model declares that it is done."""

CHECK_TOOLS: Final = _words(
    """
    build check_types compile diagnostics get_diagnostics lint pytest run_build run_check run_checks
    run_lint run_test run_tests test tests type_check typecheck validate verify
    """
)
"""Tools, by whole name, that check the work."""

RETRIEVAL_WORDS: Final = _words(
    """
    arxiv bing brave browser docs document documents duckduckgo exa google internet knowledge rag
    retrieval retrieve search_engine semantic serper surfer tavily vector web wikipedia
    """
)
"""Words of tools that search the web or a store of texts."""

FILE_WORDS: Final = _words(
    """
    code codebase content dir directory file files find glob grep path regex repo ripgrep symbol
    symbols text workspace
    """
)
"""Words of tools that search files or code: never thin, whatever else they are called."""

NOTE_FILES: Final = _words(
    """
    checklist journal log_of_work memory note notes plan progress scratchpad status tasks todo todos
    worklog
    """
)
"""Stems of file names in which an agent keeps notes for itself."""

ASIDE_WORDS: Final = _words(
    """
    changelog changes demo example examples explanation final overview readme report results summary
    verification verify walkthrough
    """
)
"""Words of file names that are made beside the work, not as the work."""

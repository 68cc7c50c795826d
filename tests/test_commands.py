"""Rules of `commands`: what a shell command does, read from its words."""

from __future__ import annotations

import pytest

from otel_stall.commands import MAX_COMMAND, Shell, SimpleCommand, parse
from otel_stall.observations import Effect

READ, SEARCH, COMMAND, CHECK, WRITE = Effect.READ, Effect.SEARCH, Effect.COMMAND, Effect.CHECK, Effect.WRITE
IRREVERSIBLE, WAIT = Effect.IRREVERSIBLE, Effect.WAIT


class TestEffect:
    @pytest.mark.parametrize(
        ("command", "effect"),
        [
            ("ls -la src", READ),
            ("cat a.py | head -20", READ),
            ("sed -n '1,20p' a.py", READ),
            ("git status", READ),
            ("git -C repo log --oneline", READ),
            ("git stash list", READ),
            ("/usr/bin/wc -l a.py", READ),
            ("grep -rn total src", SEARCH),
            ("rg total | sort | uniq -c", SEARCH),
            ("find . -name '*.py'", SEARCH),
            ("git grep total", SEARCH),
            ("pytest -q", CHECK),
            ("python3 -m pytest tests/test_a.py", CHECK),
            ("npm run lint", CHECK),
            ("npm --prefix web test", CHECK),
            ("make", CHECK),
            ("make test-unit", CHECK),
            ("cargo clippy", CHECK),
            ("go vet ./...", CHECK),
            ("cmake --build out", CHECK),
            ("python manage.py test shop", CHECK),
            ("black --check src", CHECK),
            ("black src", WRITE),
            ("ruff check --fix src", COMMAND),
            ("pytest --version", COMMAND),
            ("echo text > a.txt", WRITE),
            ("sort a.txt >> b.txt", WRITE),
            ("sed -i 's/a/b/' a.py", WRITE),
            ("find . -name '*.pyc' -delete", WRITE),
            ("pip install requests", WRITE),
            ("python -m pip install requests", WRITE),
            ("git add a.py", WRITE),
            ("git checkout -- a.py", WRITE),
            ("rm -rf out", WRITE),
            ("git commit -m 'done'", IRREVERSIBLE),
            ("git push origin main", IRREVERSIBLE),
            ("git push --dry-run", WRITE),
            ("gh pr create --fill", IRREVERSIBLE),
            ("kubectl apply -f app.yaml", IRREVERSIBLE),
            ("kubectl get pods", COMMAND),
            ("npm publish", IRREVERSIBLE),
            ("sleep 30", WAIT),
            ("sleep 5 && cat log.txt", READ),
            ("python solve.py", COMMAND),
            ("./run.sh", COMMAND),
            ("curl http://localhost:8000", COMMAND),
            ("cat a.py 2>/dev/null", READ),
            ("ls missing 2>&1", READ),
            ("git merge-base main topic", READ),
            ("git diff > work.patch", WRITE),
        ],
    )
    def test_of_one_command(self, command: str, effect: Effect) -> None:
        """The first word and its subcommand tell what a command could do; what they do not tell is a command."""
        assert parse(command).effect is effect

    @pytest.mark.parametrize(
        ("command", "effect"),
        [
            ("cd src && pytest -q", CHECK),
            ("cat a.py; git commit -am x", IRREVERSIBLE),
            ("python gen.py && ls", COMMAND),
            ("pytest -q > out.txt; tail out.txt", CHECK),
            ("ls | tee list.txt", WRITE),
            ("grep x a.py || cat a.py", SEARCH),
            ("sleep 2; python solve.py", COMMAND),
        ],
    )
    def test_of_several_commands(self, command: str, effect: Effect) -> None:
        """Of several commands the weightiest decides: irreversible, check, write, command, search, read, wait."""
        assert parse(command).effect is effect

    @pytest.mark.parametrize(
        "command",
        [
            "bash -lc 'pytest -q'",
            '/bin/bash -c "pytest -q"',
            'bash -lc "cd /repo && pytest -q"',
            "sudo -E pytest -q",
            "bash -lc cd /repo && pytest -q",
            "bash -lc pytest -q",
            "sudo -n -u app pytest -q",
            "nice -n 10 pytest -q",
            "timeout 60 pytest -q",
            "timeout -k 5 60 pytest -q",
            "env -i PATH=/bin pytest -q",
            "CI=1 TZ=UTC pytest -q",
            "time nice pytest -q",
            "uv run pytest -q",
            "poetry run pytest -q",
            "npx -y jest",
            "/repo/.venv/bin/pytest -q",
            "set -e\ncd /repo\npytest -q",
            "source .venv/bin/activate && pytest -q",
        ],
    )
    def test_under_wrappers(self, command: str) -> None:
        """What stands around a command (shell, directory, environment, time limit) does not change what it is."""
        assert parse(command).effect is CHECK


class TestNoOperation:
    @pytest.mark.parametrize(
        "command",
        [
            *(
                "",
                "   ",
                "\n\n",
                ":",
                "true",
                "echo done",
                "pwd",
                "cd src",
                "export A=1",
                "A=1",
                "# a remark",
                "exit 0",
            ),
            *("echo a && echo b", "cd src; pwd", "...", "printf 'all is well\\n'", "echo x > /dev/null", "echo x 2>&1"),
        ],
    )
    def test_commands_that_do_nothing(self, command: str) -> None:
        """A line that only talks, moves about or sets variables does nothing."""
        assert parse(command) == Shell(effect=Effect.OTHER, shown="no-op", noop=True)

    @pytest.mark.parametrize("command", ["echo x > a.txt", ": && ls", "true; pytest", "cat <<EOF > a\ntext\nEOF"])
    def test_commands_that_do_something(self, command: str) -> None:
        """One real command, or one written file, makes the line an act."""
        assert not parse(command).noop


class TestName:
    @pytest.mark.parametrize(
        ("command", "name", "shown"),
        [
            ("git status -s", "git status", "git status"),
            ("git -C repo commit -m x", "git commit", "git commit"),
            ("npm run secret-job", "npm run", "npm run"),
            ("python3 -m pytest tests", "python3 pytest", "python pytest"),
            ("python3 solve.py", "python3", "python"),
            ("/opt/bin/deploy-acme --now", "deploy-acme", "command"),
            ("gitx status", "gitx", "command"),
            ("make acme-report", "make acme-report", "make"),
            ("cat a.py", "cat", "cat"),
        ],
    )
    def test_of_the_main_command(self, command: str, name: str, shown: str) -> None:
        """The name is the command with its subcommand; what is shown of it are known words alone."""
        found = parse(command)

        assert (found.name, found.shown) == (name, shown)


class TestCheck:
    @pytest.mark.parametrize(
        ("command", "identity"),
        [
            ("pytest -q -x tests/test_a.py", "pytest tests/test_a.py"),
            ("pytest --tb=short tests/test_a.py -v", "pytest tests/test_a.py"),
            ("cd repo && pytest", "pytest"),
            ("npm run lint", "npm lint"),
            ("ls", ""),
        ],
    )
    def test_identity_is_command_and_targets(self, command: str, identity: str) -> None:
        """Flags say how a check runs, not what it checks."""
        assert parse(command).check == identity


class TestTarget:
    @pytest.mark.parametrize(
        ("command", "target", "lines"),
        [
            ("cat a.py", "a.py", None),
            ("sed -n '10,20p' src/a.py", "src/a.py", (10, 20)),
            ("sed -n 10,20p src/a.py | head", "src/a.py", (10, 20)),
            ("head -n 20 a.py", "a.py", None),
            ("grep -n total a.py", "a.py", None),
            ("echo x > b.txt", "b.txt", None),
            ("cp a.py b.py", "b.py", None),
            ("git show HEAD:a.py", "HEAD:a.py", None),
            ("pytest -q", "", None),
        ],
    )
    def test_is_the_file_worked_on(self, command: str, target: str, lines: tuple[int, int] | None) -> None:
        """The written file, else the last operand; `sed -n` names the lines it shows."""
        found = parse(command)

        assert (found.target, found.lines) == (target, lines)

    def test_the_first_here_document_is_what_was_written(self) -> None:
        """A here-document is content, never commands."""
        found = parse("cat > a.sh <<'EOF'\nrm -rf out\ngit push\nEOF\n")

        document = "rm -rf out\ngit push"
        assert found == Shell(WRITE, "cat", "cat > a.sh", "cat", target="a.sh", document=document, mutates=True)

    def test_a_here_document_without_end(self) -> None:
        """The rest of the text is the document."""
        assert parse("cat > a <<EOF\none\ntwo").document == "one\ntwo"


class TestTraits:
    @pytest.mark.parametrize(
        ("command", "traits"),
        [
            ("ls", ""),
            ("git checkout -- a.py", "mutates reverts"),
            ("git checkout -b topic", "mutates"),
            ("git stash", "mutates reverts"),
            ("git stash list", ""),
            ("git reset --hard", "mutates reverts"),
            ("rm a.py", "mutates removes"),
            ("mkdir -p out && ls", "mutates removes"),
            ("mkdir out && cp a out/a", "mutates"),
            ("git commit -m x", "mutates commits"),
            ("git commit --amend", "mutates"),
            ("gh pr create", "mutates commits"),
            ("npm publish", "mutates"),
            ("sed -i s/a/b/ a.py && pytest", "mutates"),
        ],
    )
    def test_of_changes(self, command: str, traits: str) -> None:
        """Whether a line changes something, takes it back, only removes, or commits."""
        found = parse(command)
        named = [name for name in ("mutates", "reverts", "removes", "commits") if getattr(found, name)]
        if not found.mutates:
            named = [name for name in named if name != "removes"]

        assert " ".join(named) == traits


class TestWords:
    def test_quotes_hold_separators(self) -> None:
        """Separators inside quotes separate nothing."""
        assert parse("python -c 'a; b && rm x | c'").effect is COMMAND
        assert parse('grep "a|b;c" a.py').target == "a.py"

    def test_a_remark_ends_the_line_of_commands(self) -> None:
        """What stands after # is not run."""
        assert parse("ls # rm -rf out").effect is READ

    def test_the_head_is_named_without_its_path(self) -> None:
        """/usr/bin/git is git."""
        assert SimpleCommand(("/usr/bin/git", "log")).head == "git"
        assert SimpleCommand(()).head == ""

    def test_only_the_beginning_is_read(self) -> None:
        """A command is cut before it is looked at."""
        assert parse("ls " + "a " * MAX_COMMAND + "; git push").effect is READ


class TestScripts:
    def test_a_comment_ends_with_its_line(self) -> None:
        """What stands below a comment runs; a quote in the comment opens nothing; a `#` in a word is no comment."""
        found = parse("set -e\n# don't ask\ngit add -A\ngit commit -m 'a # b'  # bye\n")

        assert (found.effect, found.commits) == (Effect.IRREVERSIBLE, True)
        assert parse("# nothing here").noop
        assert parse("sed -i 's/#x/y/' f.py").target == "f.py"

    def test_a_line_that_resets_and_commits_commits(self) -> None:
        """Changes are taken back only where nothing else is changed beside it."""
        assert not parse("git reset -q out || true; git commit -m x").reverts
        assert parse("git add -A && git reset -q out").reverts

    def test_a_patch_made_anew_is_derived(self) -> None:
        """Removing the old file and writing what a looking command shows makes nothing of its own."""
        assert parse("rm -f a.patch; git diff > a.patch").derived
        assert not parse("git diff > a.patch; python fix.py > b.txt").derived

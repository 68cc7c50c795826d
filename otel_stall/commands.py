"""What a shell command does, read from its words: looks, checks, writes, cannot be undone, or nothing.

A command is cut to `MAX_COMMAND` characters, its here-documents are taken out, and it is split into
simple commands at `&&`, `||`, `;`, `|` and line ends outside quotes. Wrappers (`bash -lc`, `cd x &&`,
`sudo`, `timeout 30`, `VAR=1`) are unwrapped. One linear pass; no shell is ever run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from otel_stall.observations import Effect
from otel_stall.rulings import NO_RULING, NO_RULINGS, Ruling, Rulings
from otel_stall.values import unguarded
from otel_stall.vocabulary import (
    CHECK_SUBCOMMANDS,
    CHECK_WORDS,
    CHECKS,
    GIT_READS,
    GIT_REVERTS,
    IRREVERSIBLE_SUBCOMMANDS,
    NOTHING,
    PACKAGE_TOOLS,
    READS,
    RELEASE_SCRIPTS,
    REMOVES,
    RUNNERS,
    SEARCHES,
    WAITS,
    WRAPPERS,
    WRAPPERS_WITH_VALUE,
    WRITES,
)

__all__ = ["MAX_COMMAND", "Shell", "SimpleCommand", "parse"]

MAX_COMMAND = 3_000
"""Characters of a command that are read, after runs of blank lines are collapsed."""

_HEREDOC = re.compile(r"<<-?\s?(['\"]?)([A-Za-z_][A-Za-z0-9_]{0,40})\1")
_TOKEN = re.compile(
    r"(?<!\S)#[^\n]{0,3000}|"
    r"'[^']{0,3000}'|\"(?:[^\"\\]|\\.){0,3000}\"|\\.|&&|\|\||[;|\n]|[0-9&]?>{1,2}&?|<|[^\s'\"\\;|<>&]{1,3000}|.",
    re.DOTALL,
)
_BREAKS = frozenset({"&&", "||", ";", "|", "\n"})
_REDIRECT = re.compile(r"[0-9&]?>{1,2}&?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}=")
_INNER = re.compile(r"(?:/usr)?(?:/bin/)?(?:ba|z|da|k)?sh -[a-z]{0,4}c (['\"]?)")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command of a line: its words without quotes, and the files its output is written to."""

    words: tuple[str, ...]
    targets: tuple[str, ...] = ()
    head: str = field(init=False, default="")
    """The command's own name, without a path; "" where there is none."""
    plain: tuple[str, ...] = field(init=False, default=(), compare=False)
    """The words after the name that are no options."""
    operands: tuple[str, ...] = field(init=False, default=(), compare=False)
    """The words after the name that are neither options nor the values of those that name a place."""
    sub: str = field(init=False, default="", compare=False)
    """The subcommand of a command that has one (`git status` -> `status`), "" otherwise."""

    def __post_init__(self) -> None:
        if not self.words:
            return
        head = self.words[0].rsplit("/", 1)[-1]
        operands = _operands(head, self.words[1:])
        sub = _python_module(self.words) if head.startswith("python") else operands[0] if operands else ""
        object.__setattr__(self, "head", head)
        object.__setattr__(self, "plain", tuple([word for word in self.words[1:] if not word.startswith("-")]))
        object.__setattr__(self, "operands", operands)
        object.__setattr__(self, "sub", sub)


@unguarded
@dataclass(frozen=True, slots=True)
class Shell:
    """What a whole command line does.

    `name` is the first command that says something, with its subcommand where it has one, and `shown` the
    same as it may be exported; `normal` the line with its quoting, spacing and wrappers undone; `check` the
    words that identify the check in it; `target` the file it reads or writes, `lines` the range of lines of
    that file it shows; `document` the first here-document. `derived` says that it writes only what a looking
    command shows: `git diff > a.patch`; `garbled` that a command is named by punctuation or an option:
    `:ls`, `> python3 --version`.
    """

    effect: Effect = Effect.COMMAND
    name: str = ""
    normal: str = ""
    shown: str = ""
    check: str = ""
    target: str = ""
    lines: tuple[int, int] | None = None
    document: str | None = None
    mutates: bool = False
    reverts: bool = False
    removes: bool = False
    commits: bool = False
    derived: bool = False
    garbled: bool = False
    noop: bool = False


def parse(command: str, rulings: Rulings = NO_RULINGS) -> Shell:
    """Return what a command line does; an empty one is a no-op. Never raises; linear in its length.

    `rulings` go before what is built in; `shown` is then the pattern that fits.
    """
    text, document = _without_documents(_unwrapped(command))
    simple = _split(text)
    ruled = {one: ruling for one in simple if (ruling := _ruling(one, rulings)).pattern}
    acting = [one for one in simple if one in ruled or not (_idle(one) or (document is not None and _recites(one)))]
    if not acting:
        return Shell(effect=Effect.OTHER, name="", shown="no-op", noop=True)
    effects = [_ruled(_effect(one), ruled.get(one)) for one in acting]
    main = _main(acting, effects)
    effect = effects[acting.index(main)]
    written = next((one.targets[0] for one in acting if one.targets), "")
    return Shell(
        effect=effect,
        name=_name(main),
        normal=_normal(simple, text),
        shown=ruled[main].pattern if main in ruled and not ruled[main].never else _shown_name(main),
        check=_check_identity(main) if effect is Effect.CHECK else "",
        target=written or _operand(main, effect),
        lines=_shown_lines(acting) if effect is Effect.READ else None,
        document=document,
        mutates=any(each.mutates() for each in effects),
        reverts=_takes_back(acting, effects),
        garbled=any(one.head.startswith((":", ",", "}", "]", "-")) for one in acting if one.words),
        derived=document is None and _only_derives(acting, effects),
        removes=all(_leaves_no_content(one) or not each.mutates() for one, each in zip(acting, effects, strict=True)),
        commits=any(_commits(one) for one in acting),
    )


def _ruling(one: SimpleCommand, rulings: Rulings) -> Ruling:
    return rulings.of_command(one.words, (one.head, *one.operands)) if rulings.commands else NO_RULING


def _ruled(effect: Effect, ruling: Ruling | None) -> Effect:
    """Return the effect that a user's setting makes of one."""
    if ruling is None:
        return effect
    if ruling.never:
        return {Effect.IRREVERSIBLE: Effect.WRITE, Effect.CHECK: Effect.COMMAND}.get(effect, effect)
    return ruling.effect or effect


_RANK = {
    Effect.IRREVERSIBLE: 0,
    Effect.CHECK: 1,
    Effect.WRITE: 2,
    Effect.COMMAND: 3,
    Effect.SEARCH: 4,
    Effect.READ: 5,
    Effect.WAIT: 6,
}


def _main(acting: list[SimpleCommand], effects: list[Effect]) -> SimpleCommand:
    ranked = sorted(range(len(acting)), key=lambda i: (_RANK[effects[i]], i))
    return acting[ranked[0]]


def _unwrapped(command: str) -> str:
    text = command.strip()
    for _ in range(3):
        match = _INNER.match(text)
        if not match or not text.endswith(match.group(1)):
            break
        text = text[match.end() : -1 if match.group(1) else None].strip()
    return text


def _without_documents(text: str) -> tuple[str, str | None]:
    """Return the command without the bodies of here-documents, and the first body."""
    body: str | None = None
    for _ in range(8):
        match = _HEREDOC.search(text)
        if not match:
            break
        start = text.find("\n", match.end())
        if start < 0:
            break
        end = text.find("\n" + match.group(2), start)
        inner = text[start + 1 : end if end >= 0 else len(text)]
        body = inner if body is None else body
        after = text[end + 1 + len(match.group(2)) :] if end >= 0 else ""
        text = text[: match.start()] + text[match.end() : start] + after
    lines = (line.strip() for line in text[: 4 * MAX_COMMAND].split("\n"))
    return "\n".join(line for line in lines if line)[:MAX_COMMAND], body


def _split(text: str) -> list[SimpleCommand]:
    commands: list[SimpleCommand] = []
    words: list[str] = []
    targets: list[str] = []
    word, glued, redirect = "", False, False

    def end_word() -> None:
        nonlocal word, glued, redirect
        if glued:
            (targets if redirect else words).append(word)
            redirect = False
        word, glued = "", False

    def end_command() -> None:
        nonlocal words, targets
        if unwrapped := _strip_wrappers(words):
            commands.append(SimpleCommand(tuple(unwrapped), _files(targets)))
        elif targets:
            commands.append(SimpleCommand((), _files(targets)))
        words, targets = [], []

    for token in _TOKEN.findall(text):
        if token in _BREAKS:
            end_word()
            end_command()
        elif token.isspace():
            end_word()
        elif _REDIRECT.fullmatch(token):
            end_word()
            redirect = True
        elif token[0] == "#" and not glued:
            continue
        else:
            word += token[1:-1] if token[0] in "'\"" and len(token) > 1 else token
            glued = True
    end_word()
    end_command()
    return commands


def _files(targets: list[str]) -> tuple[str, ...]:
    return tuple(t for t in targets if t not in ("/dev/null", "/dev/stderr", "/dev/stdout") and not t.isdigit())


def _strip_wrappers(words: list[str]) -> list[str]:
    rest = list(words)
    for _ in range(8):
        if not rest:
            break
        head = rest[0].rsplit("/", 1)[-1]
        if _ASSIGNMENT.match(rest[0]) and len(rest) > 1:
            rest = rest[1:]
        elif head in WRAPPERS and len(rest) > 1:
            rest = _past_options(rest[1:])
        elif head in WRAPPERS_WITH_VALUE and len(rest) > 2:
            rest = _past_options(rest[1:])[1:]
        elif head in RUNNERS and len(rest) > 1:
            rest = rest[2:] if rest[1] in ("run", "exec", "-c", "-y", "--yes") and len(rest) > 2 else rest[1:]
        else:
            break
    return rest


_WITH_VALUE = frozenset({"-k", "-u", "-g", "--signal", "--kill-after", "--user", "--adjustment"})
"""Options of wrappers whose value is the next word; `-n` and `-s` have one of some wrappers only."""


def _past_options(words: list[str]) -> list[str]:
    index = 0
    while index < len(words) - 1 and words[index].startswith("-"):
        option, value = words[index], words[index + 1]
        valued = option in _WITH_VALUE or (option in ("-n", "-s") and (value.isdigit() or value.isupper()))
        index += 2 if valued and index + 2 < len(words) else 1
    return words[index:]


def _idle(one: SimpleCommand) -> bool:
    if one.targets:
        return False
    bare = bool(one.words) and _ASSIGNMENT.match(one.words[0]) is not None and len(one.words) == 1
    wordless = not any(any(ch.isalnum() for ch in word) for word in one.words)
    return bare or wordless or one.head in NOTHING


def _recites(one: SimpleCommand) -> bool:
    """Return whether a command only prints its own here-document."""
    return one.words == ("cat",) and not one.targets


def _derives(one: SimpleCommand) -> bool:
    return bool(one.targets) and _effect(replace(one, targets=())).looks()


def _only_derives(acting: list[SimpleCommand], effects: list[Effect]) -> bool:
    changing = [one for one, effect in zip(acting, effects, strict=True) if effect.mutates()]
    return any(map(_derives, changing)) and all(_derives(one) or _leaves_no_content(one) for one in changing)


def _takes_back(acting: list[SimpleCommand], effects: list[Effect]) -> bool:
    """Return whether a line takes changes back and makes none beside it: `git reset x && git commit` commits."""
    changing = [one for one, effect in zip(acting, effects, strict=True) if effect.mutates()]
    return any(map(_reverts, changing)) and all(_reverts(one) or _leaves_no_content(one) for one in changing)


def _leaves_no_content(one: SimpleCommand) -> bool:
    return one.head in REMOVES or (one.head == "git" and one.sub in ("add", "config", "init", "rm"))


def _python_module(words: tuple[str, ...]) -> str:
    for index, word in enumerate(words[1:4], start=1):
        if word == "-m" and index + 1 < len(words):
            return words[index + 1]
    return ""


def _operands(head: str, words: tuple[str, ...]) -> tuple[str, ...]:
    if head not in _PLACED:
        return tuple([word for word in words if not word.startswith("-") or word == "--build"])
    places = ("-C", "-c", "--prefix", "--filter", "-w")
    valued = {index + 1 for index, word in enumerate(words) if word in places}
    return tuple(
        word
        for index, word in enumerate(words)
        if index not in valued and (not word.startswith("-") or word == "--build")
    )


_PLACED = frozenset({"git", "npm", "pnpm", "yarn", "make"})
"""Commands that may be told where to work before what to do."""


def _effect(one: SimpleCommand) -> Effect:
    head, sub = one.head, one.sub
    if _irreversible(one):
        return Effect.IRREVERSIBLE
    if _is_check(one):
        return Effect.CHECK
    if one.targets or head in WRITES or _edits_in_place(one):
        return Effect.WRITE
    if head in WAITS:
        return Effect.WAIT
    if head == "git":
        if sub == "grep":
            return Effect.SEARCH
        return Effect.READ if sub in GIT_READS or (sub == "stash" and "list" in one.words) else Effect.WRITE
    if head in SEARCHES:
        return Effect.SEARCH
    if head in READS:
        return Effect.READ
    installs = not {"install", "add", "remove", "uninstall", "ci", "i"}.isdisjoint(one.operands[:2])
    return Effect.WRITE if installs and _is_package_manager(one) else Effect.COMMAND


def _is_package_manager(one: SimpleCommand) -> bool:
    known = {
        "pip",
        "pip3",
        "apt",
        "apt-get",
        "yum",
        "dnf",
        "apk",
        "brew",
        "npm",
        "yarn",
        "pnpm",
        "bun",
        "gem",
    }
    return one.head in known or (one.head.startswith("python") and _python_module(one.words) == "pip")


def _edits_in_place(one: SimpleCommand) -> bool:
    if one.head in ("sed", "gsed", "perl"):
        return any(word.startswith(("-i", "-pi", "--in-place")) for word in one.words[1:4])
    if one.head in ("find", "fd"):
        return "-delete" in one.words or ("-exec" in one.words and "rm" in one.words)
    if one.head == "7z":
        return not any(word in ("l", "t", "i") for word in one.words[1:2])
    if one.head == "tar":
        return not any(word.lstrip("-").startswith("t") for word in one.words[1:2])
    return one.head in ("black", "prettier", "isort", "gofmt", "rustfmt") and not any(
        word in ("--check", "-l", "-c", "--diff", "-d") for word in one.words
    )


def _is_check(one: SimpleCommand) -> bool:
    head, sub = one.head, one.sub
    if head in CHECKS or (head in ("black", "prettier") and "--check" in one.words):
        return "--version" not in one.words and "--fix" not in one.words
    if head.startswith("python"):
        script = next((word for word in one.words[1:] if not word.startswith("-")), "").rsplit("/", 1)[-1]
        return (
            sub in CHECK_SUBCOMMANDS["python"]
            or script in ("runtests.py", "run_tests.py")
            or (script == "manage.py" and "test" in one.words)
        )
    if head in PACKAGE_TOOLS:
        script = _script(one)
        return any(part in CHECK_WORDS for part in re.split(r"[:_.-]", script)) or script in CHECK_WORDS
    return sub in CHECK_SUBCOMMANDS.get(head, frozenset())


def _script(one: SimpleCommand) -> str:
    """Return the script or target a package tool runs: `npm run lint` -> `lint`, `make test` -> `test`."""
    operands = [word for word in one.operands if "=" not in word and word not in ("run", "run-script")]
    return operands[0] if operands else ("build" if one.head in ("make", "gradle") else "")


def _check_identity(one: SimpleCommand) -> str:
    """Return command, script and targets of a check without its flags: what it checks, not how."""
    operands = [word for word in one.words[1:] if not word.startswith("-") and word not in ("run", "--", ".")]
    return " ".join([one.head, *operands])


def _irreversible(one: SimpleCommand) -> bool:
    known = IRREVERSIBLE_SUBCOMMANDS.get(one.head, ())
    if "--dry-run" in one.words or "--help" in one.words:
        return False
    if one.head in PACKAGE_TOOLS and _script(one) in RELEASE_SCRIPTS:
        return True
    sub = one.sub
    return (
        "" in known
        or sub in known
        or " ".join(one.plain[:2]) in known
        or (one.head in ("gcloud", "vercel", "netlify") and "deploy" in one.plain)
    )


def _commits(one: SimpleCommand) -> bool:
    return one.head in ("git", "gh", "glab") and _irreversible(one) and "--amend" not in one.words


def _reverts(one: SimpleCommand) -> bool:
    sub = one.sub
    if one.head != "git" or sub not in GIT_REVERTS:
        return False
    return not (sub == "stash" and "list" in one.words) and not (sub == "checkout" and "-b" in one.words)


def _normal(simple: list[SimpleCommand], text: str) -> str:
    """Return the line as its commands, words and files; what a long line holds beyond the limit stays out."""
    said = (" ".join(one.words) + "".join(f" > {target}" for target in one.targets) for one in simple)
    return " ; ".join(said) if simple else text


def _name(one: SimpleCommand) -> str:
    sub = one.sub if one.head in _WITH_SUBCOMMANDS or one.head.startswith("python") else ""
    return f"{one.head} {sub}".strip() if sub and len(sub) < 30 and "/" not in sub else one.head


def _shown_name(one: SimpleCommand) -> str:
    """Return the command's name as it may be exported: words of the vocabulary only, never a user's own."""
    sub = one.sub
    head = "python" if one.head.startswith("python") else one.head
    if sub and head in _WITH_SUBCOMMANDS and sub in _KNOWN_SUBCOMMANDS:
        return f"{head} {sub}"
    return head if head in _KNOWN_HEADS else "command"


_WITH_SUBCOMMANDS = frozenset({"git", *CHECK_SUBCOMMANDS, *IRREVERSIBLE_SUBCOMMANDS, *PACKAGE_TOOLS})


_KNOWN_HEADS = READS | SEARCHES | WRITES | WAITS | CHECKS | NOTHING | _WITH_SUBCOMMANDS | {"python", "node", "ruby"}
_KNOWN_SUBCOMMANDS = (
    GIT_READS
    | GIT_REVERTS
    | CHECK_WORDS
    | RELEASE_SCRIPTS
    | {"add", "merge", "rebase", "cherry-pick", "clone", "pull", "init", "mv", "rm", "grep", "install", "run"}
    | {sub for known in CHECK_SUBCOMMANDS.values() for sub in known}
    | {sub for known in IRREVERSIBLE_SUBCOMMANDS.values() for sub in known}
)


def _operand(one: SimpleCommand, effect: Effect) -> str:
    """Return the file a reading or writing command works on: its last operand that is no option."""
    if effect not in (Effect.READ, Effect.WRITE, Effect.SEARCH):
        return ""
    operands = one.plain
    if one.head == "git":
        operands = operands[1:]
    minimum = 2 if one.head in ("sed", "awk", "grep", "rg", "egrep", "jq", "head", "tail") else 1
    if one.head in ("head", "tail", "sed") and operands and not operands[-1][:1].isdigit():
        return operands[-1]
    return operands[-1] if len(operands) >= minimum else ""


_SED_RANGE = re.compile(r"([0-9]{1,9}),([0-9]{1,9})p?")


def _shown_lines(acting: list[SimpleCommand]) -> tuple[int, int] | None:
    """Return the range of lines that `sed -n 'a,bp'` shows, None where none is named."""
    for one in acting:
        if one.head == "sed":
            for word in one.words[1:4]:
                if match := _SED_RANGE.fullmatch(word):
                    return int(match.group(1)), int(match.group(2))
    return None

#!/usr/bin/env bash
# Writes .ci/locks/: what CI installs, each file with the hash of every archive and no address of any registry.
# Without an argument what is pinned stays where it still fits; `--upgrade` takes the newest that fits.
set -euo pipefail
cd "$(dirname "$0")/../.."
uv=${UV:-.venv/bin/uv}

locked() { # FILE OPTION...
	"$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --custom-compile-command "make lock" --output-file ".ci/locks/$1" "${@:2}"
}

locked dev.txt pyproject.toml --all-extras --group dev "$@"
locked release.txt --group release "$@"
locked lowest.txt pyproject.toml --all-extras --group lowest --resolution lowest-direct "$@"

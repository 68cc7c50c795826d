#!/usr/bin/env bash
# Builds the source archive, and the wheel from it, into dist/; twice, and a third wheel straight from the checkout:
# all must be the same byte for byte, and hold what .ci/release/archives.py says. Nothing is fetched.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv-release/bin/python
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1704067200)
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf dist
built() { # FOLDER OPTION...
	"$python" -m build --no-isolation --outdir "$@" . >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
built dist
built "$work/again"
built "$work/straight" --wheel
cmp dist/*.whl "$work"/straight/*.whl
"$python" .ci/release/archives.py dist "$work/again"
"$python" -m twine check --strict dist/*

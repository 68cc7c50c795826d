#!/usr/bin/env bash
# Installs the built wheel with the newest dependencies into an empty environment of each Python that is here, and
# runs tests there that need nothing of the checkout but themselves. Says which Pythons ran and which are not here.
set -euo pipefail
cd "$(dirname "$0")/../.."
uv=$PWD/.venv/bin/uv
export UV_PYTHON_DOWNLOADS=never
wanted=${PYTHONS:-3.11 3.12 3.13 3.14}
tests="test_processor.py test_exporter.py test_scenarios.py test_emission.py test_imports.py"

interpreter() { # VERSION: the first that starts and is of that version, on the path or where pyenv and uv keep them
	local one
	for one in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python \
		"$("$uv" python find --no-project --system "$1" 2>/dev/null)"; do
		if "$one" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" >/dev/null 2>&1; then
			"$one" -c 'import sys; print(sys.executable)'
			return
		fi
	done
	return 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests pyproject.toml "$work"
ran="" missing=""
for version in $wanted; do
	if ! found=$(interpreter "$version"); then
		missing="$missing $version"
		continue
	fi
	env=$work/env-$version
	"$uv" venv --quiet --python "$found" "$env"
	"$uv" pip install --quiet --python "$env" "$(ls "$PWD"/dist/*.whl)[gateway]" hypothesis pytest pytest-timeout
	(cd "$work" && "$env/bin/python" -m pytest -q -p no:cacheprovider $(printf 'tests/%s ' $tests))
	(cd "$work" && "$env/bin/otel-stall" demo --fast -o "$work/demo-$version.jsonl" >/dev/null)
	ran="$ran $("$env/bin/python" -c 'import platform; print(platform.python_version())')"
done
test -n "$ran" || { echo "no Python of $wanted is here" >&2; exit 1; }
echo "the wheel was tested on Python$ran${missing:+; not here, so not tested:$missing}"

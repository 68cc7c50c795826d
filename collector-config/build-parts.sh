#!/usr/bin/env bash
# Builds the collector of builder.yaml and Jaeger v2 from their Go modules, once, and prints their folder.
# What was built stays in ${OTEL_STALL_PARTS:-~/.cache/otel-stall/parts}, by the content of manifest and this script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
builder=v0.161.0
jaeger=v1.76.0 # the release of the module in which cmd/jaeger is Jaeger 2.13

command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
if ! command -v go >/dev/null; then
  cat >&2 <<'SAY'
Go is not installed, and the parts are built from Go modules. Either install Go 1.25 or newer (https://go.dev/dl),
or put two programs of the same names into the folder that OTEL_STALL_PARTS_BIN names:
  otelcol-stall   an OpenTelemetry Collector, contrib distribution 0.161 or newer
  jaeger          Jaeger 2.13 or newer
SAY
  exit 3
fi

cache=${OTEL_STALL_PARTS:-${XDG_CACHE_HOME:-$HOME/.cache}/otel-stall/parts}
key=$(cat "$here/builder.yaml" "$0" | sha256sum | cut -c1-16)
target=$cache/$key
if [ ! -x "$target/otelcol-stall" ] || [ ! -x "$target/jaeger" ]; then
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/building.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  echo "building the collector, which takes some minutes the first time" >&2
  cp "$here/builder.yaml" "$work/"
  (cd "$work" && go run "go.opentelemetry.io/collector/cmd/builder@$builder" --config builder.yaml \
    --output-path "$work/collector") >&2
  echo "building Jaeger" >&2
  mkdir "$work/jaeger"
  (cd "$work/jaeger" && go mod init parts && go get -tool "github.com/jaegertracing/jaeger/cmd/jaeger@$jaeger" &&
    go build -o "$work/bin-jaeger" github.com/jaegertracing/jaeger/cmd/jaeger) >&2
  mkdir -p "$target"
  mv "$work/collector/otelcol-stall" "$target/otelcol-stall"
  mv "$work/bin-jaeger" "$target/jaeger"
fi
echo "$target"

#!/usr/bin/env bash
# Formats and lints what is not Rust or runs in other projects: Python, JavaScript, shell, and the Go and Rust that
# greenlight puts into projects. A linter that cannot be installed is named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
status=0

# check TITLE COMMAND…: a command that fails has found something.
check() {
  title="$1"
  shift
  ended=0
  "$@" > "$output" 2>&1 || ended=$?
  case "$ended" in
    0) echo "$title: fine" ;;
    69) grep UNAVAILABLE "$output" >&2 ;;
    *) cat "$output"; echo "$title: finds something (see above)"; status=1 ;;
  esac
}
# gofmt -l succeeds no matter what it lists.
formatted_go() { .ci/tool gofmt -l "$@" || return; [ -z "$(.ci/tool gofmt -l "$@")" ]; }

mapfile -t shell < <(git ls-files '*.sh' .ci/run .ci/tool)
check "ruff format" .ci/tool ruff format --check
check "ruff check" .ci/tool ruff check
check "biome" .ci/tool biome ci
check "shellcheck" .ci/tool shellcheck "${shell[@]}"
templates=src/repair/schemata/compare/injected
check "gofmt" formatted_go "$templates/go"
check "rustfmt" rustfmt --check --edition 2021 "$templates"/rust/*.rs
exit "$status"

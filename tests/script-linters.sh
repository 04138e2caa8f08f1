#!/usr/bin/env bash
# Formats and lints what is not Rust or runs in other projects: Python, JavaScript, shell, and the Go and Rust that
# greenlight puts into projects. A linter that cannot be installed is named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
output="$scratch/output"
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
# `gofmt -l` succeeds no matter what it lists.
# shellcheck disable=SC2329
formatted_go() { .ci/tool gofmt -l "$@" || return; [ -z "$(.ci/tool gofmt -l "$@")" ]; }
# Rust of every edition, with and without unsafe code.
# shellcheck disable=SC2329
compiled_rust() {
  for edition in 2015 2018 2021 2024; do
    for more in "" "--cfg=greenlight_safe"; do
      rustc --crate-type lib --edition "$edition" --emit metadata ${more:+"$more"} -A warnings \
        -o "$scratch/check.rmeta" "$1" || return 1
    done
  done
}

mapfile -t shell < <(git ls-files '*.sh' .ci/run .ci/tool)
check "ruff format" .ci/tool ruff format --check
check "ruff check" .ci/tool ruff check
check "biome" .ci/tool biome ci
check "shellcheck" .ci/tool shellcheck "${shell[@]}"
templates=crates/repair/src/schemata/compare/injected
check "gofmt" formatted_go "$templates/go"
check "go vet" .ci/tool go vet "$templates"/go/*.go
check "rustfmt" rustfmt --check --edition 2021 "$templates"/rust/*.rs
check "rustc" compiled_rust "$templates/rust/lib.rs"
check "modules of Python" python3 -m unittest --quiet tests/scripts/test_warm.py
if command -v node > /dev/null; then
  check "modules of JavaScript" node --test tests/scripts/warm.test.mjs
else
  echo "UNAVAILABLE: the modules of JavaScript are not loaded, as there is no Node" >&2
fi
exit "$status"

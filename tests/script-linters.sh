#!/usr/bin/env bash
# Formats and lints what is not Rust: Python, JavaScript and shell. A linter that cannot be installed is named and left out.
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

mapfile -t shell < <(git ls-files '*.sh' .ci/run .ci/tool .ci/describe .ci/formula .ci/rustdoc)
check "ruff format" .ci/tool ruff format --check
check "ruff check" .ci/tool ruff check
check "biome" .ci/tool biome ci
check "shellcheck" .ci/tool shellcheck "${shell[@]}"
check "modules of Python" python3 -m unittest --quiet tests/scripts/test_warm.py
if command -v node > /dev/null; then
  check "modules of JavaScript" node --test tests/scripts/warm.test.mjs
else
  echo "UNAVAILABLE: the modules of JavaScript are not loaded, as there is no Node" >&2
fi
exit "$status"

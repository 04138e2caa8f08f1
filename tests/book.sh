#!/usr/bin/env bash
# Builds the documentation site with the program that is given, and checks that its links lead somewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

# tool NAME ARGUMENT…: ends this script if the tool cannot be installed.
tool() {
  ended=0
  .ci/tool "$@" || ended=$?
  [ "$ended" != 69 ] || exit 0
  return "$ended"
}

.ci/book "$1"
tool mdbook build
tool lychee --offline --include-fragments --no-progress --root-dir "$PWD/target/book/html" \
  --exclude-path print.html --exclude-path toc.html 'target/book/html/**/*.html'

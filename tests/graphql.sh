#!/usr/bin/env bash
# Checks greenlight's GraphQL against the schema that GitHub publishes. Without npm or a network, it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=target/ci/graphql
if [ ! -e "$folder/node_modules/@octokit/graphql-schema/schema.graphql" ]; then
  mkdir -p "$folder"
  npm install --silent --no-audit --no-fund --prefix "$folder" graphql@16.15.0 @octokit/graphql-schema@15.26.1 \
    || { echo "UNAVAILABLE: GitHub's GraphQL schema cannot be downloaded" >&2; exit 0; }
fi
node tests/graphql.mjs "$folder"

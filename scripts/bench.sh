#!/usr/bin/env bash
# Measures what docs/benchmarks.md says. The machine should have nothing else to do.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh go python3
echo "machine: $(uname -sm), $(getconf _NPROCESSORS_ONLN) processors, $(go env GOVERSION)"
go test -run '^$' -bench . -benchmem ./wire ./trade ./policy ./dialect ./ledger
go test -count=1 -timeout 30m -v -run '^TestRatio' ./bench -measure "$@" | grep -v '^---\|^===' || exit 1

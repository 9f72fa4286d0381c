#!/usr/bin/env bash
# Builds the stripped, static binary and refuses one that is over 25 MB.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh go
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/sallyport ./cmd/sallyport
size=$(wc -c <bin/sallyport)
limit=25000000
echo "bin/sallyport: $((size / 1000)) kB, at most $((limit / 1000)) kB"
if [ "$size" -gt "$limit" ]; then
	echo "the binary is over its limit" >&2
	exit 1
fi

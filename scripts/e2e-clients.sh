#!/usr/bin/env bash
# Drives the real agent programs, Claude Code and Codex, against the real daemon. They are third-party programs that npm
# has installed in the directory that is given; CONTRIBUTING.md says how. Where the system allows it, everything runs in
# a network of its own that has nothing but loopback. More arguments go to go test, for instance -run or -v.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${1:-}" ] || [ ! -d "$1/node_modules/.bin" ]; then
	echo "Say where npm has installed the clients: make e2e-clients CLIENTS=DIR. CONTRIBUTING.md says how." >&2
	exit 2
fi
clients=$(cd "$1" && pwd)
shift

scripts/need.sh go
# What is built in the test is fetched before, since there is no network then.
CGO_ENABLED=0 go build -trimpath -buildvcs=false -o /dev/null ./cmd/sallyport
go test -run '^$' ./e2e >/dev/null

alone=()
if unshare -rn ip link set lo up 2>/dev/null; then
	alone=(unshare -rn sh -c 'ip link set lo up && exec "$@"' alone)
else
	echo "note: there is no network of its own here (unshare -rn, ip); the clients are only told to ask nobody else" >&2
fi
for client in claude codex; do
	printf '%s: ' "$client"
	"${alone[@]}" env HOME=/nonexistent "$clients/node_modules/.bin/$client" --version </dev/null
done
"${alone[@]}" go test -count=1 -v ./e2e "$@" -clients "$clients"

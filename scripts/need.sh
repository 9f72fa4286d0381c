#!/usr/bin/env bash
# Says in plain words which of the named tools is missing, and how to get it. Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=0
say() {
	echo "$1" >&2
	missing=1
}

need_go() {
	if ! command -v go >/dev/null; then
		say "Go is missing. Sallyport needs Go 1.26 or newer: https://go.dev/doc/install"
		return
	fi
	# In this directory an older Go fetches the version that go.mod names, unless that is switched off.
	if ! version=$(go env GOVERSION 2>&1); then
		say "Go 1.26 or newer is needed, and this one cannot fetch it: $version"
		return
	fi
	minor=${version#go1.}
	minor=${minor%%[!0-9]*}
	case $version in
	go1.*) [ "${minor:-0}" -ge 26 ] || say "Go 1.26 or newer is needed; this is $version." ;;
	go[2-9]*) ;;
	*) ;; # a development version
	esac
}

need_cc() {
	command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null ||
		say "A C compiler is missing. The race detector needs one: install gcc or clang (Debian: apt-get install gcc libc6-dev)."
}

need_python3() {
	command -v python3 >/dev/null ||
		say "python3 is missing. The tests of the Hermes plugin need it (Debian: apt-get install python3)."
}

for tool in "$@"; do
	"need_$tool"
done
exit "$missing"

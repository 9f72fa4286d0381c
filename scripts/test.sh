#!/usr/bin/env bash
# Every test. It stops at the first step that fails, and prints what the tools print.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh go cc python3

step() {
	echo
	echo "== $1 ($SECONDS s)"
}

step "formatting"
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	echo "not formatted, make fmt repairs it:" >&2
	echo "$unformatted" >&2
	exit 1
fi

step "vet"
go vet ./...

step "staticcheck"
go tool staticcheck ./...

step "stripped static binary"
scripts/build.sh

step "tests, fuzz seeds, documents"
go test ./...

step "thousands of random policies and histories"
go test -count=1 -run '^(TestTwoEvaluatorsAgree|TestStricterPoliciesNeverLoosen)$' ./policy -rapid.checks=3000
go test -count=1 -run '^(TestFoldCountsWhatANaiveRecountCounts|TestReplacingIsJudgedAsCancellingFirst)$' ./ledger -rapid.checks=3000

step "race detector"
# The tests of the module's root read the source; there is nothing in them to race.
CGO_ENABLED=1 go test -race $(go list ./... | grep -v -x sallyport)

for platform in linux/arm64 darwin/arm64; do
	step "build and vet for $platform"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build ./...
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go vet ./...
done

echo
echo "make test: passed in $SECONDS s"

#!/usr/bin/env bash
# Measures what docs/benchmarks.md says, and fails if a bound does not hold. The machine should have nothing else to do.
# With RECORD=1 the results are written into that page. Arguments go to the measurements, for instance -million.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh go python3
mkdir -p bin
status=0
{
	echo "$(date -u +%Y-%m-%d), $(uname -sm), $(getconf _NPROCESSORS_ONLN) processors, $(go env GOVERSION), commit $(git rev-parse --short HEAD 2>/dev/null || echo none)"
	go test -count=1 -timeout 60m -v -run '^TestRatio' ./bench -measure "$@" 2>&1 | grep -Ev '^(---|===|PASS|FAIL|ok|exit status|time=)'
} | tee bin/bench.txt || status=$?

if [ "${RECORD:-}" = 1 ]; then
	{
		sed '/^## Results$/,$d' docs/benchmarks.md
		printf '## Results\n\n```text\n'
		cat bin/bench.txt
		printf '```\n'
	} >bin/benchmarks.md
	mv bin/benchmarks.md docs/benchmarks.md
fi
exit "$status"

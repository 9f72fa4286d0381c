#!/usr/bin/env bash
# Writes the generated pages anew: each package that has one takes -update.
set -euo pipefail
cd "$(dirname "$0")/.."

go test -count=1 -run 'Page' ./policy -update
go test -count=1 -run 'DocumentsAreWhatTheTablesSay' ./rest -update
go test -count=1 -run 'PageIsCurrent' . -update
git status --short docs rest

#!/usr/bin/env bash
# Looks for known vulnerabilities without the online database: the reports come as a Go module, through the module
# proxy that the go command uses, and are indexed here.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v0.0.0-20261105234957-e22db6528018
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

dir=$(go mod download -json "golang.org/x/vulndb@$version" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
GOBIN="$scratch" GOFLAGS=-mod=mod go install "golang.org/x/vulndb/cmd/indexdb@$version"
"$scratch/indexdb" -out "$scratch/db" -vulns "$dir/data/osv"
go tool govulncheck -db "file://$scratch/db" ./...

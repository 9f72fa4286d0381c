# The README's two commands are `make demo` and `make test`. Everything else is for those who work on Sallyport.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
FUZZTIME ?= 10s
VERSION ?= v0.1.0

.PHONY: help
help: ## say what there is
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

.PHONY: demo
demo: ## build Sallyport and watch an agent's orders decided, executed on paper, blocked and recorded
	@scripts/need.sh go
	@$(GO) build -o bin/sallyport ./cmd/sallyport
	@bin/sallyport demo

.PHONY: test
test: ## every test: formatting, vet, staticcheck, tests, race detector, fuzz seeds, documents, other platforms
	@scripts/test.sh

.PHONY: e2e-clients
e2e-clients: ## drive Claude Code and Codex, which npm has installed in CLIENTS, against the real daemon
	@scripts/e2e-clients.sh "$(CLIENTS)"

.PHONY: build
build: ## the stripped, static binary in bin/, at most 25 MB
	@scripts/build.sh

.PHONY: bench
bench: ## the ratios of docs/benchmarks.md, each against its yardstick
	@scripts/bench.sh

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: cover
cover: ## how much of each package its tests reach
	@mkdir -p bin
	@$(GO) test -coverpkg=./... -coverprofile=bin/cover.out ./...
	@$(GO) tool cover -func=bin/cover.out | tail -n 1

.PHONY: fmt
fmt: ## format the source
	@gofmt -w .
	@$(GO) tool gofumpt -w .

.PHONY: docs
docs: ## write the generated pages anew
	@scripts/docs.sh

.PHONY: record-release
record-release: ## keep a data directory of VERSION as test data
	@$(GO) test -count=1 -run '^TestRecordRelease$$' -record $(VERSION) .

.PHONY: vuln
vuln: ## look for known vulnerabilities, with a database that comes as a Go module
	@scripts/vuln.sh

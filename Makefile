# Targets for people and for .ci/run. `make` alone prints them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

MODULE := github.com/authz-bridge/authz-bridge
CLUSTER := testdata/cluster
DEPLOY := testdata/deploy

# As Caddy's own releases are built: without databases for its internal CA.
BUILD_FLAGS := -trimpath -ldflags '-s -w' -tags nobadger,nomysql,nopgx

# Packages that are built or tested at once. Each test package may run an API
# server of 300 MB.
PARALLEL ?= 2
TEST_TIMEOUT ?= 15m
LINT_TIMEOUT ?= 15m
FUZZTIME ?= 30s
SOAK ?= 10m

# Parts of the bench, as in PARTS=decide,churn; a wrong name lists them all.
# ROUNDS of ROUND (5 of 1s) make a comparison; SHORT=1 only tries whether all works.
PARTS ?= all

# The tools are Go tools of a module of their own. They are linked once for each
# state of that module and each Go version, as a binary starts at once where
# `go tool` would check a thousand packages first.
TOOLS_KEY := $(shell { go env GOVERSION; cat .ci/tools/go.mod .ci/tools/go.sum; } | sha256sum | cut -c 1-16)
TOOLS := bin/tools/$(TOOLS_KEY)

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##############################################################################
# Build and try

.PHONY: build
build: ## build bin/caddy: Caddy with this module
	CGO_ENABLED=0 go build $(BUILD_FLAGS) -o bin/caddy ./xcaddy

.PHONY: xcaddy
xcaddy: $(TOOLS)/built ## build bin/caddy-xcaddy the way users do, with xcaddy
	$(TOOLS)/xcaddy build "$$(go list -m -f '{{.Version}}' github.com/caddyserver/caddy/v2)" \
		--with $(MODULE)@v0.0.0=. --output bin/caddy-xcaddy
	bin/caddy-xcaddy list-modules | grep authz_bridge

.PHONY: run
run: build ## try it without a cluster, on http://localhost:8080
	rm -rf .quickstart
	cp -R caddyfile/examples/quickstart .quickstart
	@echo "$$QUICKSTART_HELP"
	@QUICKSTART_DIR='$(CURDIR)/.quickstart' \
	XDG_CONFIG_HOME='$(CURDIR)/bin/home' XDG_DATA_HOME='$(CURDIR)/bin/home' \
		exec bin/caddy run --config caddyfile/examples/quickstart.caddyfile

define QUICKSTART_HELP

In another shell:

  curl -i -H 'Host: open.localhost'   http://localhost:8080   # 200: the App's Secret is there
  curl -i -H 'Host: nobody.localhost' http://localhost:8080   # 403: the host of no App
  curl -i -H 'Host: closed.localhost' http://localhost:8080   # 503: the App's Secret is missing
  curl -i -H 'Host: private.localhost' http://localhost:8080  # 401: the App asks for a key
  curl -i -H 'Host: private.localhost' -H 'X-API-Key: alices-key' http://localhost:8080   # 200

Open the third one while Caddy runs, and close it again:

  cp caddyfile/examples/closed.secret.yaml .quickstart/       # now it answers 200
  rm .quickstart/closed.secret.yaml                           # and 503 again

Ctrl-C ends it.

endef
export QUICKSTART_HELP

.PHONY: cluster
cluster: build ## start a real API server with the quickstart's objects, in .cluster/
	go build -o bin/cluster ./mirror/kube/kubetest/up
	@exec bin/cluster -dir .cluster caddyfile/examples/quickstart

##############################################################################
# Check

.PHONY: test
test: ## run all tests with the race detector and a real API server
	@echo '== API server of the tests (built once, then cached)'
	go run ./mirror/kube/kubetest/up -build
	@echo '== kustomize and Prometheus for the tests (compiled once, then cached)'
	cd $(DEPLOY) && go build ./...
	@PATH="$$PATH:/usr/sbin" command -v "$${NGINX:-nginx}" >/dev/null || echo '== no nginx here: the tests that run it are skipped'
	@echo '== tests (the first results come when all is compiled for the race detector)'
	go test -race -p $(PARALLEL) -timeout $(TEST_TIMEOUT) ./...

.PHONY: lint
lint: $(TOOLS)/built ## check format, vet, golangci-lint, go.mod files and shell syntax
	@echo '== shell syntax'
	bash -n .ci/run
	@echo '== go.mod and go.sum'
	go mod tidy -diff
	cd $(CLUSTER) && go mod tidy -diff
	cd $(DEPLOY) && go mod tidy -diff
	@echo '== gofumpt'
	@files="$$($(TOOLS)/gofumpt -l . $(CLUSTER) $(DEPLOY))"; \
	if [[ -n "$$files" ]]; then echo "not formatted; run make format:"; echo "$$files"; exit 1; fi
	@echo '== go vet'
	go vet ./...
	cd $(DEPLOY) && go vet ./...
	@echo '== golangci-lint'
	$(TOOLS)/golangci-lint run --timeout $(LINT_TIMEOUT) ./...

.PHONY: format
format: $(TOOLS)/built ## format all Go files
	$(TOOLS)/gofumpt -w . $(CLUSTER) $(DEPLOY)
	$(TOOLS)/golangci-lint fmt

.PHONY: soak
soak: ## play random faults under load for SOAK (10m)
	SOAK=$(SOAK) go test -run '^TestSoak$$' -v -timeout 0 ./authzbridge | grep -v '^{'

# go test passes on what a test prints at once only in the package's own directory.
.PHONY: bench
bench: build ## measure PARTS (all) and print a table, kept in testdata/bench
	cd authzbridge/bench && BENCH='$(PARTS)' BENCH_ROUNDS='$(ROUNDS)' BENCH_ROUND='$(ROUND)' \
		go test -run '^TestBench$$' -count 1 -timeout 0 $(if $(SHORT),-short)

.PHONY: gobench
gobench: ## run all Go benchmarks
	go test -run '^$$' -bench . -benchmem ./snapshot/... ./mirror ./mirror/cache ./authzbridge

.PHONY: fuzz
fuzz: ## fuzz each target for FUZZTIME (30s)
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' --exclude-dir=testdata --exclude-dir='.?*' . | \
	while IFS=: read -r file func; do \
		target="$${func#func }"; \
		echo "== $$target in $$(dirname "$$file")"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")" </dev/null; \
	done

##############################################################################
# Parts

$(TOOLS)/built:
	@echo '== tools (built once, then cached; the first time takes minutes)'
	rm -rf bin/tools
	mkdir -p $(TOOLS)
	cd .ci/tools && go build -trimpath -ldflags '-s -w' -o '$(CURDIR)/$(TOOLS)/' tool
	@touch $@

.PHONY: clean
clean: ## remove what the targets made
	rm -rf bin .quickstart .cluster coverage.out coverage.html

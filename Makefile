# Every verb works on the modules one by one, as an importer sees them: no workspace.
export GOWORK := off

MODULES  := shared-contract adapter-outbound-cache-redis adapter-inbound-web app-bootstrap
EXAMPLES := shared-contract/examples/importing-service adapter-outbound-cache-redis/examples/guarded-service
TOOLS    := scripts/mutate scripts/drill bench adapter-outbound-cache-redis/servicelane
ALL      := $(MODULES) $(EXAMPLES) $(TOOLS)

STATICCHECK_VERSION := v0.8.2
STATICCHECK := $(CURDIR)/bin/staticcheck-$(STATICCHECK_VERSION)

# A count, not a time: go test can report the end of its own time as a failure
# ("context deadline exceeded").
FUZZRUNS ?= 500000

# Which sixteenth of the mutants, modulo sixteen, once the tests have passed; -1 is all of them.
PART ?= -1

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help run build test e2e walk cluster service-lane matrix partition containers soak lint fuzz mutate bench profile drill release-check tidy ci

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9\/<>-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make test/<module>    one module's tests: $(MODULES)"

run: build ## try it: gateway, demo upstream and an embedded Redis in one process
	@bin/edgelimit quickstart

# GOGC: the compiler trades memory for time, so that a first run from an empty build
# cache answers sooner.
build: ## build bin/edgelimit
	@cd app-bootstrap && GOGC=400 go build -trimpath -ldflags '-X github.com/edgelimit/edgelimit/app-bootstrap/internal/cli.release=$(VERSION)' -o ../bin/edgelimit ./cmd/edgelimit

test: $(MODULES:%=test/%) $(EXAMPLES:%=test/%) $(TOOLS:%=test/%) ## every module's tests, alone, raced, on a real Redis

test/%:
	@server=$$(scripts/redis-server) && cd $* && EDGELIMIT_REDIS_SERVER=$$server go test -race ./...

# The suites of the lane have a verb of their own, without the race detector.
test/adapter-outbound-cache-redis/servicelane:
	@server=$$(scripts/redis-server) && cd adapter-outbound-cache-redis/servicelane && EDGELIMIT_REDIS_SERVER=$$server go test -race . ./internal/...

e2e: ## the built binary from outside: Redis, faults, signals, the README's commands
	@server=$$(scripts/redis-server) && cd app-bootstrap && EDGELIMIT_REDIS_SERVER=$$server go test -race -count=1 -v ./e2e/...

walk: ## walks, two processes and the crowd, unraced, with what they covered and took printed
	@cd shared-contract && go test -count=1 -v -run '^TestWalk' ./model
	@server=$$(scripts/redis-server) && cd adapter-outbound-cache-redis && EDGELIMIT_REDIS_SERVER=$$server go test -count=1 -v -run '^Test(Walk|Processes|Overload)' ./internal/program ./redislimit ./duallog

cluster: ## both limiters on a Redis Cluster of six processes: redirects, failovers, moving slots
	@scripts/redis-cluster.sh test

service-lane: ## every promise and fault on one real server: an image, a binary or one that runs; writes docs/evidence
	@scripts/service-lane

matrix: ## the service lane on Redis 7.0, Redis 8 and Valkey 8, unpacked beside the system
	@scripts/service-matrix

partition: ## a replica, and a cluster of six, in containers cut in two for 8 s: writes docs/evidence/partition.md
	@scripts/service-lane -suites partition -command "make partition"

SOAK ?= 10m

soak: ## two gateways under a mixed load and one fault after the other, for SOAK (10m): writes docs/evidence/soak.md
	@server=$$(scripts/redis-server) && cd app-bootstrap && EDGELIMIT_REDIS_SERVER=$$server EDGELIMIT_SOAK_REPORT=$(CURDIR)/docs/evidence/soak.md \
		go test -tags soak -count=1 -timeout 0 -v -run '^TestSoak$$' ./e2e -for $(SOAK)

lint: $(STATICCHECK) ## gofmt, go vet, staticcheck, tidy modules, who may import whom, and the tests that a page names
	@scripts/lint $(STATICCHECK) $(ALL)

$(STATICCHECK):
	@mkdir -p bin/tool && GOBIN=$(CURDIR)/bin/tool go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION) && mv bin/tool/staticcheck $@

fuzz: ## every fuzz target, FUZZRUNS inputs each (500000)
	@scripts/fuzz $(FUZZRUNS) $(MODULES) $(TOOLS)

mutate: ## break programs, certainty and limiters one line at a time; the tests must notice each
	@server=$$(scripts/redis-server) && cd scripts/mutate && EDGELIMIT_REDIS_SERVER=$$server go run . -part $(PART)

bench: ## this and its peers side by side, about ten minutes: writes docs/evidence/performance.md
	@server=$$(scripts/redis-server) && cd bench && EDGELIMIT_REDIS_SERVER=$$server go run .

profile: ## where time and memory go of the bars that are not met, about three minutes: writes docs/evidence/profile.md
	@server=$$(scripts/redis-server) && cd bench && EDGELIMIT_REDIS_SERVER=$$server go run . -profile

drill: ## kill Redis under load, bring it back, count: writes docs/evidence/outage-drill.md
	@scripts/outage-drill.sh

release-check: ## the drill's report is of this code and states the accepted risk
	@scripts/release-check

tidy: ## go mod tidy in every module
	@for m in $(ALL); do (cd $$m && go mod tidy) || exit 1; done

containers: ## promises and faults over RESP3, and the partitions, in containers, where an engine answers
	@if docker info >/dev/null 2>&1; then scripts/service-lane -suites promises,faults -protocol 3 && scripts/service-lane -suites partition -brief; else echo "no container engine answers: make matrix runs the same lane on binaries"; fi

ci: lint test walk cluster ## what .ci/run runs: the lane without pages, a sixteenth of the mutants, a short fuzz, soak and drill
	@scripts/service-matrix -brief
	@$(MAKE) containers
	@$(MAKE) mutate PART="$$(git rev-list --count HEAD)"
	@scripts/fuzz 10000 $(MODULES) $(TOOLS)
	@$(MAKE) soak SOAK=40s
	@scripts/outage-drill.sh -short

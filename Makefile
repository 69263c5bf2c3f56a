# The front door. `make help` lists what there is; each target calls the language's own tool.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev build eco demo demo-eco test test-all fuzz fmt lint bench bench-driver bench-exec bench-lunar bench-servers servers schemas clean $(addprefix test-,slow root server r browser java board qemu asan-ubsan tsan fuzz) board firmware size-lunar test-lunar-powercut test-eco-faults test-eco-differential test-eco-trixie

# A compiler takes up to 0.7 GB: a board with 1 GB compiles one file at a time.
JOBS ?= $(shell awk -v cores="$$(nproc)" '/^MemTotal/ { jobs = int($$2 / 786432); print jobs < 1 ? 1 : jobs < cores ? jobs : cores }' /proc/meminfo)
# The fast tests wait half of their time, for programs and for time itself.
WORKERS := $(shell echo $$((2 * $(JOBS))))
PYTHON := .venv/bin/python
# -rs: a skipped test is listed with its reason. loadfile: a file's tests share a process, so its fixtures are made once.
# The JUnit files of a target's tests; tools/skips.py fails when a test was skipped for a reason that is not listed.
JUNIT = build/junit/$@
PYTEST = $(PYTHON) -m pytest -q -rs -c lab/pyproject.toml --junitxml=$(JUNIT)/pytest.xml lab/tests driver/tests lunar/tests
CTEST = ctest --output-junit '$(CURDIR)/$(JUNIT)/ctest.xml' --preset
FRESH = @rm -rf $(JUNIT) && mkdir -p $(JUNIT)
SKIPS = @$(PYTHON) tools/skips.py $(JUNIT)
# A source archive has no .git: then every file that no build wrote.
CPP := $(or $(shell git ls-files '*.cc' '*.c' '*.h' 2>/dev/null),$(shell find * -name build -prune -o -name '*.[ch]' -print -o -name '*.cc' -print))
PYTHON_SOURCES := lab driver lunar eco sampler experiments tools
LABELS := slow|root|server
# Tests start many Pythons, and pytest rewrites 170 files: bytecode is kept, also where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
PROGRAMS := edgejoule-driver edgejoule-sampler edgejoule-supervisor lunar-shell

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

setup: .venv/.runtime ## install what is missing: system packages, the virtual environment, web assets
	@tools/packages build

build: setup build/build.ninja ## build the native programs into build/bin
	@ninja -C build -n $(PROGRAMS) | grep -q 'no work to do' || cmake --build --preset release -j $(JOBS) --target $(PROGRAMS)

demo: build ## measure real databases on this machine and explain the result (five minutes after the build)
	@.venv/bin/edgejoule run experiments/first-look || [ $$? -eq 3 ]

demo-eco: eco ## three unequal servers on this machine: eco's policies compared on an unmodified db_bench (about five minutes)
	@.venv/bin/edgejoule run experiments/eco-demo --set design.replications=$(or $(ROUNDS),4) || [ $$? -eq 3 ]

test: setup-dev build/build.ninja ## the fast tests of all languages: no root, no hardware, no network
	$(FRESH)
	@cmake --build --preset release -j $(JOBS)
	$(CTEST) release --timeout 300 -LE '$(LABELS)' -j $(WORKERS)
	$(PYTEST) -m 'not slow and not root and not r and not browser and not java and not board and not qemu and not server' -n $(WORKERS) --dist loadfile
	$(SKIPS)

test-all: test test-slow test-root test-server test-r test-browser test-java test-board test-qemu test-asan-ubsan test-tsan test-fuzz ## all tests, sanitizers and fuzzers included

test-slow: setup-dev build ## tests that take long
	$(FRESH)
	@tools/packages slow
	@cmake --build --preset release -j $(JOBS)
	$(CTEST) release -L slow -R mutant -j $(WORKERS) --no-tests=error
	$(CTEST) release -L slow -E mutant --no-tests=ignore --output-junit '$(CURDIR)/$(JUNIT)/ctest-alone.xml'
	$(PYTEST) --timeout 1200 -m 'slow and not root and not alone and not server' -n $(JOBS) --dist loadgroup
	$(PYTEST) --timeout 1200 -m alone --junitxml=$(JUNIT)/pytest-alone.xml
	$(SKIPS)

SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

test-root: setup-dev build ## tests that need root
	$(FRESH)
	@tools/packages root
	@deploy/local/redis
	@cmake --build --preset release -j $(JOBS) --target all durability-root-tests lunar-bench
	$(SUDO) $(CTEST) release -L root --no-tests=error
	$(SUDO) $(PYTEST) --timeout 1200 -m root
	$(SKIPS)

test-server: setup-dev build servers ## tests with servers on loopback: eco's federation, databases
	$(FRESH)
	@cmake --build --preset release -j $(JOBS)
	$(CTEST) release -L server --no-tests=ignore
	$(PYTEST) --timeout 1200 -m 'server and not root'
	$(SKIPS)

test-r: setup-dev build ## statistics against R
	$(FRESH)
	@tools/packages test-all
	$(PYTEST) -m r
	$(SKIPS)

test-browser: setup-dev build ## the report in headless Chromium
	$(FRESH)
	@tools/packages test-all
	$(PYTEST) --timeout 1200 -m browser
	$(SKIPS)

test-java: setup-dev build ## the driver against the real Java YCSB (Maven fetches it)
	$(FRESH)
	@tools/packages java
	@cmake --build --preset release -j $(JOBS) --target driver-recorder eco-preload
	$(PYTEST) --timeout 1200 -m java
	$(SKIPS)

board: setup ## the driver for ARM boards, cross-built: ARCH=arm64, ARCH=armhf, or both when not given
	@JOBS=$(JOBS) tools/board $(or $(ARCH),arm64 armhf)

test-board: setup-dev build board ## the driver for ARM boards, under qemu-user
	$(FRESH)
	@tools/packages board
	$(PYTEST) --timeout 1200 -m board
	$(SKIPS)

FIRMWARE := build/qemu-virt build/qemu-virt-save-restore build/mps2

firmware: setup ## lunar for bare metal, cross-built: build/qemu-virt, build/mps2
	@tools/packages firmware
	@cmake -G Ninja -S lunar/ports/qemu-virt -B build/qemu-virt >/dev/null
	@cmake -G Ninja -S lunar/ports/qemu-virt -B build/qemu-virt-save-restore -DLUNAR_C_FLAGS=-msave-restore >/dev/null
	@cmake -G Ninja -S lunar/ports/mps2 -B build/mps2 >/dev/null
	@set -e; for build in $(FIRMWARE); do cmake --build $$build -j $(JOBS) >build/firmware.log || { cat build/firmware.log; exit 1; }; done

test-lunar-powercut: build ## 1,000,000 different power cuts of lunar, every mode, a table by kind (CUTS=N, SEED=N)
	@cmake --build --preset release -j $(JOBS) --target lunar-every-cut
	build/bin/lunar-every-cut $(or $(CUTS),1000000) $(or $(SEED),1)

test-eco-faults: build ## what a database loses when its worker, the network or a disk fails (TIMES=N)
	@cmake --build --preset release -j $(JOBS) --target eco-faults
	build/bin/eco-faults --times $(or $(TIMES),20)

test-eco-differential: build ## 200 option sets with and without offloading: the same contents? (SETS=N KEYS=N SEED=N)
	@cmake --build --preset release -j $(JOBS) --target eco-differential
	build/bin/eco-differential --sets $(or $(SETS),200) --keys $(or $(KEYS),100000) --seed $(or $(SEED),1)

test-eco-trixie: ## eco with the RocksDB 9.10 of Debian 13, in a chroot that is made here (root, debootstrap, 2 GB)
	@tools/trixie sh -c 'cmake --preset release >/dev/null && cmake --build build -j $(JOBS) --target eco/all'
	@tools/trixie ctest --test-dir build/eco --output-on-failure

size-lunar: firmware ## what lunar takes: ROM by module, RAM, beside the paper's
	@$(PYTHON) lunar/bench/size.py $(FIRMWARE)

test-qemu: setup-dev build firmware ## lunar on emulated boards, beside what it prints here
	$(FRESH)
	@tools/packages qemu
	@cmake --build --preset release -j $(JOBS) --target lunar-portable-host lunar-bench
	$(PYTEST) --timeout 1200 -m qemu
	$(SKIPS)

test-asan-ubsan test-tsan: test-%: setup-dev
	$(FRESH)
	@cmake --preset $* >/dev/null && cmake --build --preset $* -j $(JOBS)
	$(CTEST) $* -LE '$(LABELS)' -j $(JOBS)
	$(SKIPS)

FUZZ_S ?= 60
FUZZ_SEED ?= 0

fuzz: setup ## fuzz what the driver reads from outside, lunar's images, calls and SQL, FUZZ_S seconds each (default 60), from FUZZ_SEED (0: any)
	@tools/packages fuzz
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz -j $(JOBS)
	@set -e; for fuzzer in build/fuzz/bin/fuzz-*; do corpus=build/fuzz/corpus/$${fuzzer##*/fuzz-}; mkdir -p $$corpus; \
	  echo "$$fuzzer, $(FUZZ_S) s"; $$fuzzer -max_total_time=$(FUZZ_S) -seed=$(FUZZ_SEED) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	  $$(ls lunar/fuzz/$${fuzzer##*lunar_}.dict 2>/dev/null | sed 's/^/-dict=/') \
	  -artifact_prefix=$$corpus- $$corpus $$(ls -d driver/fuzz/seeds/$${fuzzer##*/fuzz-} 2>/dev/null) 2>&1 | grep -E 'ERROR|does not hold|SUMMARY|DONE +cov:|stat::number' ; done

test-fuzz: FUZZ_S := 10
test-fuzz: FUZZ_SEED := 1
test-fuzz: fuzz ## the fuzzers, ten seconds each: that clang builds them, and what they find in that time

fmt: setup-dev ## format all sources
	@$(PYTHON) -m ruff format -q --config lab/pyproject.toml $(PYTHON_SOURCES) && $(PYTHON) -m ruff check -q --fix --config lab/pyproject.toml $(PYTHON_SOURCES)
	@.venv/bin/clang-format -i $(CPP)

lint: setup-dev ## formats, ruff, mypy, imports and includes between rooms
	$(PYTHON) -m ruff format --check --config lab/pyproject.toml $(PYTHON_SOURCES)
	$(PYTHON) -m ruff check --config lab/pyproject.toml $(PYTHON_SOURCES)
	$(PYTHON) -m mypy --config-file lab/pyproject.toml
	$(PYTHON) tools/rooms.py --check
	@.venv/bin/clang-format --dry-run -Werror $(CPP)

bench: bench-driver ## the bars' tables, peers in the same run

bench-driver: setup-dev build ## the driver's bars; peers by GO_YCSB=PATH YCSB_CPP=PATH, figures to JSON=FILE
	@tools/packages bench
	@cmake --build --preset release -j $(JOBS) --target driver-value-bench
	$(PYTHON) driver/bench/driver.py $(if $(GO_YCSB),--go-ycsb $(GO_YCSB)) $(if $(YCSB_CPP),--ycsb-cpp $(YCSB_CPP)) $(if $(JSON),--json $(JSON))

bench-exec: setup-dev build ## the bars of `edgejoule exec`, hyperfine in alternating rounds; ONLY=time,cost,children,kills,aa; JSON=FILE
	@tools/packages exec
	$(PYTHON) lab/bench/exec_bars.py $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json $(JSON))

bench-lunar: setup-dev build/build.ninja ## lunar by its own API on loop devices, the card model, layers (root); QUICK=1: three minutes; JSON=FILE; ONLY=SECTION
	@cmake --build --preset release -j $(JOBS) --target lunar-bench
	$(SUDO) $(PYTHON) lunar/bench/bench.py $(if $(QUICK),--quick) $(foreach section,$(ONLY),--only $(section)) $(if $(JSON),--json $(JSON))

bench-servers: setup-dev build ## a row for each database server here: workload A, its cost on both sides, the server's own count
	$(PYTHON) lab/bench/servers.py

servers: ## Redis, PostgreSQL, Cassandra, HBase for studies, a stand-in for MongoDB; says what else is here (ONLY=redis)
	@for server in $(or $(ONLY),redis postgres cassandra hbase ycsb mongodb citus); do deploy/local/$$server || exit 1; done

schemas: eco ## write schemas/experiment.schema.json from the model, policies.json from eco, properties.json from the driver
	@build/bin/eco-policies > schemas/policies.json
	@cmake --build --preset release -j $(JOBS) --target driver-properties
	@build/bin/driver-properties > schemas/properties.json
	@$(PYTHON) -c 'import json; from edgejoule.experiment.model import json_schema; print(json.dumps(json_schema(), indent=2, ensure_ascii=False))' > schemas/experiment.schema.json

clean: ## remove what was built (results/ stays)
	rm -rf build .venv

eco: setup ## compaction offloading for RocksDB in a federation: ecod, ecoctl, the preload library, the simulator
	@tools/packages eco
	@cmake --preset release >/dev/null && cmake --build --preset release -j $(JOBS) --target ecod ecoctl eco-policies eco-preload eco-sim eco-calibrate

setup-dev: setup .venv/.dev
	@tools/packages eco

.venv/bin/pip:
	@tools/packages build
	@echo "Making the virtual environment .venv"
	@python3 -m venv .venv

.venv/.runtime: lab/requirements.txt lab/pyproject.toml lab/fetch_web_assets.py | .venv/bin/pip
	@tools/packages build
	@echo "Installing the Python packages of lab/requirements.txt"
	@.venv/bin/pip install -q --disable-pip-version-check --require-hashes -r lab/requirements.txt
	@.venv/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e lab
	@$(PYTHON) lab/fetch_web_assets.py
	@touch $@

.venv/.dev: lab/requirements-dev.txt .venv/.runtime
	@.venv/bin/pip install -q --disable-pip-version-check --require-hashes -r lab/requirements-dev.txt
	@touch $@

# tools/packages touches this file when it installs something: CMake must then search for libraries again.
build/.packages: packages.txt | setup
	@mkdir -p build && touch $@

build/build.ninja: CMakeLists.txt CMakePresets.json build/.packages | setup
	@cmake --preset release >/dev/null

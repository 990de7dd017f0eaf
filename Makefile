# Shortcuts; each target runs a script that can also be called directly.

.PHONY: help run stop test test-galera test-host bench soak check format build deb repository install clean

help:
	@echo 'make run      install missing packages, build, start a private stack and demonstrate it; the stack keeps running'
	@echo 'make stop     stop that stack'
	@echo 'make test     all tests, with a separate stack'
	@echo 'make test-galera  the acceptance tests, on a database cluster of three nodes'
	@echo 'make test-host  tests of the Debian packages, in containers with a minimal Debian 12 and 13; SUITE=bookworm or trixie: only one'
	@echo 'make check    formatting, lints, configuration files'
	@echo 'make format   format all Swift files'
	@echo 'make bench    benchmarks, as ratios to baselines measured in the same run'
	@echo 'make soak     48 hours of virtual time of simulated sync clients: nothing may grow with time'
	@echo 'make build    the programs, into .build/release'
	@echo 'make deb      Debian packages, into .build/packages or the folder in PACKAGES'
	@echo 'make repository  a signed apt repository of them, in .build/repository or the folder in REPOSITORY (KEY, URL)'
	@echo 'make install  the programs and their configuration, below DESTDIR'
	@echo 'make clean    stop the stacks of this clone, remove their data and all build products'

run:
	@scripts/run

stop:
	@scripts/stack down .stack/run

test:
	@scripts/test

test-galera:
	@scripts/test --galera

test-host:
	@scripts/bootstrap --packaging
	@scripts/test-host --suite $(or $(SUITE),both)

bench:
	@scripts/bootstrap
	@scripts/build release
	@bench/run

soak:
	@scripts/bootstrap
	@scripts/simulate soak

check:
	@scripts/bootstrap
	@scripts/check

format:
	@scripts/format

build:
	@scripts/build release

deb:
	@scripts/bootstrap --packaging
	@scripts/package $(PACKAGES)

repository: deb
	@scripts/repository $(if $(KEY),--key $(KEY)) $(if $(URL),--url $(URL)) $(REPOSITORY)

install: build
	@scripts/install

clean:
	@for stack in .stack/*/stack.json; do \
		[ ! -e "$$stack" ] || scripts/stack down "$${stack%/stack.json}"; \
	done
	rm -rf .stack .build .build-*

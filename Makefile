# make train    set up .venv and train MAPPO on Skirmish's 3m, three marines against three (half a minute, and as long once to compile Skirmish)
# make test     set up everything and run all checks: lint, import rules, tests
#               (make test-fast: without the tests that are marked slow)
# make browse   open the runs in results/ in the web browser (RESULTS=folder for another folder)
# make lint     style, import rules and types only
# make mutants MODULE=file TESTS=tests  make small mistakes in a file, and see which of them its tests notice
# make reference  write docs/reference.md and the comments of config/default.yaml from the parts' declarations
# make tables   write docs/tables.md's tables from the curves in docs/tables
# make docs     build docs/ as a site, build/site/index.html
# make notebooks  run the notebooks of examples/ and keep their outputs
# make wheel    build the package into dist/
# make format   put the code in the house style

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# modules are compiled when they are first imported: compiling all of them takes as long as installing them
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
# small networks are fastest with one thread; three processes of tests keep two cores busy, since many slow tests wait
export OMP_NUM_THREADS ?= 1
# the tests start hundreds of processes, each of which would compile the sources
unexport PYTHONDONTWRITEBYTECODE

.PHONY: train race browse test test-fast lint format check-tests check-fast reference tables docs notebooks mutants wheel

train: $(VENV)/.core
	./muster --config=mappo --env-config=skirmish with env_args.map_name=3m batch_size_run=32 \
		lr=0.001 critic_lr=0.001 t_max=150000 test_interval=10000 log_interval=40000 seed=1 \
		save_model=True save_replay=True use_tensorboard=True

race: $(VENV)/.core
	./muster --config=iqn_race --env-config=racing with seed=1 env_args.time_limit=1200 \
		env_args.reward_per_m_advanced_along_centerline=0.1 env_args.zones_ahead=15 env_args.start_anywhere=0.5 \
		save_model=True save_replay=True

browse: $(VENV)/.browser
	./muster browse $(RESULTS)

test: lint check-tests

test-fast: lint check-fast

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
	$(BIN)/mypy src

check-tests: $(VENV)/.dev
	$(BIN)/python -m pytest -n 3 --dist worksteal

check-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

mutants: $(VENV)/.dev
	$(PIP) cosmic-ray==8.7.0
	$(BIN)/python tests/mutants/mutate.py $(MODULE) $(TESTS) --count $(or $(COUNT),30)

reference: $(VENV)/.core
	PYTHONPATH=src $(BIN)/python -m cli.reference

wheel: $(VENV)/.core
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .

tables: $(VENV)/.browser
	$(BIN)/python src/suite.py tables --page=docs/tables.md

docs: $(VENV)/.docs
	$(BIN)/python docs/site/build.py build/site

notebooks: $(VENV)/.dev
	$(BIN)/jupyter execute --inplace examples/*.ipynb

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Muster needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# torch first: everything that depends on it then takes the build that is there
$(VENV)/.core: requirements.txt requirements-completion.txt | $(VENV)/bin/python
	@echo "Installing the packages of a run into $(VENV) (about a minute, 1 GB)"
	$(PIP) "$$(grep '^torch==' requirements.txt)"
	$(PIP) -r requirements.txt -r requirements-completion.txt
	@touch $@

$(VENV)/.browser: requirements-browser.txt $(VENV)/.core
	@echo "Installing the packages of the run browser"
	$(PIP) -r requirements.txt -r requirements-browser.txt
	@touch $@

$(VENV)/.docs: requirements-docs.txt $(VENV)/.core
	@echo "Installing the packages of the site"
	$(PIP) -r requirements.txt -r requirements-docs.txt
	@touch $@

$(VENV)/.dev: requirements-envs.txt requirements-browser.txt requirements-dev.txt $(VENV)/.core
	@echo "Installing the optional environments, the run browser and the development tools"
	@# meanwhile, since installing takes one core only: sources, the simulators, and what all tests import
	@{ $(BIN)/python -m compileall -q src; export PYTHONPATH=src; \
		$(BIN)/python tests/support/simulators_ahead.py; $(BIN)/python -W ignore -c "import cli.experiment, run"; } & \
		$(PIP) -r requirements.txt -r requirements-envs.txt -r requirements-browser.txt -r requirements-dev.txt
	@touch $@

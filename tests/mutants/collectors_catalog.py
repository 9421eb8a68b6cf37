"""Mutants of collectors, of changes while a run is under way, and of what is kept of races."""

from catalog import Edit

COLLECTORS = "tests/acting/test_collectors.py"
COLLECTOR_FAULTS = "tests/acting/test_collector_faults.py"
WEIGHTS = ("tests/acting/test_shared_weights.py::TestSharedWeights",)
TURNS = (COLLECTORS, "-k", "turn or refused")
FAULTS = (COLLECTOR_FAULTS, "-k", "restarted or close or hopeless")
LAG = (COLLECTORS, "-k", "older_than_the_bound or fetch_weights_within")
LIVE = (
    "tests/experiment/test_live.py",
    "tests/experiment/test_live_runs.py",
    "tests/experiment/test_live_rewards.py",
    "-k",
    "not collectors_take and not teams and not sources",
)
SOURCES = ("tests/vector_envs/test_vector_env_contract.py", "-k", "arguments_that_change")
RESULTS = ("tests/components/test_rollout_results.py", "-k", "entry or own_end")
QUEUE = (COLLECTOR_FAULTS, "-k", "full_queue")

MUTANTS = (
    Edit("collectors: they play on", 'else collectors["queue"] + 1)', 'else collectors["queue"] + 2)', QUEUE),
    Edit(
        "collectors: the newest first", "rollout = member.rollouts.popleft()", "rollout = member.rollouts.pop()", QUEUE
    ),
    Edit("weights: no lock to write", "with self._locked(fcntl.LOCK_EX):", "if True:", WEIGHTS),
    Edit("weights: published in any case", "new = self._have_changed(weights)\n", "new = True\n", WEIGHTS),
    Edit(
        "weights: running means stay behind",
        "(*network.parameters(), *network.buffers())",
        "network.parameters()",
        WEIGHTS,
    ),
    Edit(
        "weights: a resumed run counts from its own 0",
        "self._version[0], self._resumed = version, not changed",
        "self._resumed = not changed",
        WEIGHTS,
    ),
    Edit("collectors: no rollout is urgent", "return None if urgent and", "return None if False and", LAG),
    Edit(
        "collectors: what is played has no age",
        "[int(playing[member.index])] * member.granted",
        "[version] * member.granted",
        LAG,
    ),
    Edit(
        "collectors: weights of the start of a run",
        "if self._job.pull_steps and self._steps % self._job.pull_steps == 0:",
        "if False:",
        LAG,
    ),
    Edit(
        "collectors: a rollout has the newest version that it saw",
        "runner.t_env - t_env, episodes, version, logged, best, pending)",
        "runner.t_env - t_env, episodes, self._weights.fetch(), logged, best, pending)",
        LAG,
    ),
    Edit(
        "collectors: whoever is ready is next",
        "member = members[self._taken % len(members)]",
        "member = max(members, key=lambda one: len(one.rollouts))",
        TURNS,
    ),
    Edit("collectors: random numbers are not resumed", 'set_global_generators(state["generators"])', "pass", TURNS),
    Edit(
        "collectors: a state of others is taken",
        "elif collectors and not (self._options",
        "elif collectors and not (True or self._options",
        TURNS,
    ),
    Edit("collectors: nothing is hopeless", 'raise MusterError(f"Collector {member.index}: {text}")', "pass", FAULTS),
    Edit(
        "collectors: they are left behind",
        "            member.process.end(max(0.0, deadline - time.monotonic()))\n        self._transport.close()",
        "            pass\n        self._transport.close()",
        FAULTS,
    ),
    Edit("collectors: changes do not reach them", "self._crew.send(member, CHANGE, (key, value))", "pass", LIVE),
    Edit("live: a bad value changes others", "put_value(self._args, key, before)", "pass", LIVE),
    Edit(
        "live: the weights of rewards are no keys",
        'found |= {f"env_args.{name}": value for name, value in arguments.items()}',
        "pass",
        LIVE,
    ),
    Edit(
        "live: environments keep theirs",
        "self.vector_env.take_live(name, self._live_args.pop(name))",
        "self._live_args.pop(name)",
        LIVE,
    ),
    Edit(
        "live: schedules stay at their start",
        "value = Schedule.of(description).eval(t_env)",
        "value = Schedule.of(description).eval(0)",
        LIVE,
    ),
    Edit(
        "live: a removed key keeps its value",
        "before, after = self._present[key], changes.get(key, given)",
        "before, after = self._present[key], changes.get(key, self._present[key])",
        LIVE,
    ),
    Edit("live: restarted processes have the first values", "if self._live and not faults:", "if False:", SOURCES),
    Edit(
        "live: copies that are made later have the first values",
        "for name, value in self._live.items():\n            self._made[mode].take_live(name, value)",
        "pass",
        SOURCES,
    ),
    Edit("live: as before, in workers", "_take_live(self._made[key], self._live)", "pass", SOURCES),
    Edit(
        "results: the finish has no entry",
        'for name in ("frames", "input_w", "actions", "action_was_greedy", "car_gear_and_wheels"):',
        "for name in ():",
        RESULTS,
    ),
    Edit("results: a race that was cut has one more entry", "del results[name][-1]", "pass", RESULTS),
    Edit(
        "results: every car ends with the race",
        "last = int(over.argmax()) if over.any() else len(over) - 1",
        "last = len(over) - 1",
        RESULTS,
    ),
    Edit(
        "results: a cut car has finished",
        "return last + 1, bool(finished[last])",
        "return last + 1, bool(over[last])",
        RESULTS,
    ),
    Edit(
        "results: the furthest zone of the first step",
        'results["furthest_zone_idx"][-1]',
        'results["furthest_zone_idx"][0]',
        RESULTS,
    ),
)

"""The list of parts with a state: every part of a run, captured and restored."""

import copy
import logging
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from types import SimpleNamespace

import pytest
import torch.nn as nn

from checkpoints.errors import CheckpointError
from checkpoints.tree import load_tree, save_tree, tree_of_tensors
from checks import check_config
from cli.compose import compose_config
from collection import REGISTRY as ways_of_acting
from collection import lag_of
from experiment.assembly import Parts, assemble
from experiment.loop import TrainingLoop
from experiment.state import RunState
from learners import REGISTRY as learners
from records.logger import Logger
from small_training import needs_continuous_actions, needs_meaning, preset_of, sees_entities, suited
from trees import differences
from utils.config.merging import config_names
from utils.numbers.random_streams import seed_everything
from utils.processes.stop_signals import StopSignals
from utils.timing import timed

pytestmark = pytest.mark.slow

CONSOLE = logging.getLogger("test")
SMALL = {
    "batch_size": 2,
    "buffer_size": 4,
    "batch_size_run": 2,
    "vector_env": "in_process",
    "minibatches": 1,
    "updates_per_rollout": 1,
    "rnn_hidden_dim": 8,
    "rollout_steps": 4,  # not whole episodes, which have two steps and a closing state
    "learner_log_interval": 1,
    "test_interval": 10**6,
}


def cases():
    """Every learner with every way of acting that it takes."""
    for learner in sorted(learners):
        traits = learners.entry(learner).traits
        on_policy = traits.get("on_policy")
        # acting beside learning would draw from the same random numbers
        together = on_policy or traits.get("check") == "learners.options:check_draws"
        for name in sorted(set(ways_of_acting) - {"data"}):  # which does not act: tests/integration/test_offline.py
            if not (together and lag_of(name)):
                changes = (
                    {"buffer_size": 2} if on_policy else {"samples_per_insert": 0.7, "runner": "episodes_continuous"}
                )
                yield pytest.param(learner, {"collection": name, **changes}, id=f"{learner}-{name}")


@contextmanager
def playing(tmp_path, algorithm, changes, seed):
    """The parts of a run, and its loop."""
    continuous, entities = needs_continuous_actions(algorithm), sees_entities(algorithm)
    game = "gymnasium" if continuous else "entities" if entities else "two_step"
    if needs_meaning(algorithm):
        game, changes = "lbf", {**changes, "env_args": {"time_limit": 3}}
    config = compose_config(algorithm, game).config
    if continuous:
        changes = {**changes, "env_args": {"key": "Pendulum-v1", "time_limit": 2}}
    if entities:
        changes = {**changes, "env_args": {"episode_limit": 3}}
    suited(config, {**SMALL, **changes, "seed": seed, "local_results_path": str(tmp_path)})
    config = check_config(config)
    seed_everything(seed)
    config["env_args"]["seed"] = seed
    args, logger = SimpleNamespace(**config, device="cpu", unique_token="token"), Logger(CONSOLE)
    parts = assemble(args, logger)
    loop = TrainingLoop(args, parts, logger, None, StopSignals())
    try:
        yield parts, loop
        parts.collection.settle()
    finally:
        parts.collection.close()
        parts.runner.close_env()


def trained(tmp_path, learner, changes, seed, rollouts):
    """The parts of a run that has learned from so many rollouts."""
    with (
        playing(tmp_path, preset_of(learner), changes, seed) as (parts, loop),
        parts.diagnostics.active() if rollouts else nullcontext(),
    ):
        for _ in range(rollouts):
            with timed("train"):
                loop._gather_and_learn()
    return parts


@pytest.mark.parametrize(("learner", "changes"), list(cases()))
def test_every_part_of_a_run_comes_back(tmp_path, learner, changes):
    """From a file, into a run of another seed that has played nothing."""
    parts = trained(tmp_path, learner, changes, seed=1, rollouts=5)
    save_tree(parts.state.capture(), tmp_path / "state.th")
    captured = tree_of_tensors(load_tree(tmp_path / "state.th"))
    other = trained(tmp_path, learner, changes, seed=2, rollouts=0)
    before = tree_of_tensors(other.state.capture())
    other.state.restore(load_tree(tmp_path / "state.th"))
    after = tree_of_tensors(other.state.capture())
    for tree in (captured, before, after):
        tree["logger"].pop("seconds")  # the clock runs on
    assert list(captured) == list(after) == [name for name in parts.state if name in captured]
    # what a rollout buffer and a plan of updates per rollout hold is nothing
    assert {name for name in captured if differences(before[name], captured[name])} == set(
        filter(captured.get, captured)
    )
    for name in captured:
        assert differences(captured[name], after[name]) == [], name


def put_records(journal, kept):
    first = kept.first
    for stop, arrays in kept.rows(first, kept.stop):
        journal.put(first, arrays)
        first = stop


@pytest.mark.parametrize(
    ("preset", "others"),
    [
        *(pytest.param(name, {}, id=name) for name in config_names("algs")),
        pytest.param("vdn", {"agent": "noisy_rnn"}, id="vdn noisy_rnn"),
    ],
)
def test_every_preset_continues_as_if_nothing_had_happened(tmp_path, preset, others):
    """In a run of another seed, which takes over the state after five rollouts; the episodes kept have a journal."""
    config = compose_config(preset, "two_step").config
    on_policy = learners.entry(config["learner"]).traits.get("on_policy")
    changes = {"buffer_size": 2 if on_policy else 6, "batch_size_run": 1 if config["runner"] == "episode" else 2}
    changes |= others
    if config["runner"] == "collectors":
        changes["runner"] = config["collectors"]["runner"]  # other processes resume in tests of collectors
    if (config.get("target_update_interval_or_tau") or 0) > 1:
        changes["target_update_interval_or_tau"] = 4
    if config.get("chunk_length", 0) > 1:
        changes["chunk_length"] = SMALL["rollout_steps"] // 2
    if config.get("epochs", 0) > 2:
        changes["epochs"] = 2  # more say nothing more about what is saved
    ends = []
    for seed in (1, 2):
        with playing(tmp_path, preset, changes, seed) as (parts, loop):
            if seed == 1:
                for _ in range(5):  # which end within an episode
                    loop._gather_and_learn()
                parts.collection.settle()
                save_tree(parts.state.capture(), tmp_path / "state.th")
                kept = copy.deepcopy(parts.teams[0].buffer)
            else:
                parts.state.restore(load_tree(tmp_path / "state.th"))
                buffer = parts.teams[0].buffer
                if buffer.journal is None:
                    parts.teams[0].buffer = kept
                else:
                    put_records(buffer.journal, kept.journal)
            for _ in range(3):
                loop._gather_and_learn()
            parts.collection.settle()
            ends.append(tree_of_tensors(parts.state.capture()))
            logger = ends[-1].pop("logger")
            ends[-1].pop("buffer")
            # without the episode, which the loop counts outside, and the seconds, for the clock runs on
            lines = [line.split(",") for line in logger["unwritten"].splitlines()]
            ends[-1]["logged"] = {str(i): ",".join([line[0], *line[3:]]) for i, line in enumerate(lines)}
    assert differences(*ends) == []
    assert any("loss" in line for line in ends[0]["logged"].values())


def test_no_part_is_forgotten(tmp_path):
    parts = trained(tmp_path, "q_learner", {"runner": "episodes"}, seed=1, rollouts=0)
    # what plays is saved by the collection, which is "acting" in checkpoints; data are in the buffers
    in_others = {"runner", "fill", "exploitability"}
    own = {field.name for field in fields(Parts)} - in_others - {"state", "teams", "models", "collection"} | {
        "acting",
        "dataset",
    }
    of_the_team = {"mac", "learner", "buffer", "plan"}
    assert own | of_the_team | {"logger", "generators"} == set(parts.state)


class _Counter:
    def __init__(self, count):
        self.count = count


def state_of_counters(**counts):
    """A run whose parts count; a part without a count is one that this run lacks."""
    state = RunState(CONSOLE)
    for name, count in counts.items():
        state.register(name, None if count is None else _Counter(count), optional=name.startswith("maybe"))
    return state


@pytest.mark.parametrize(
    ("saved", "present", "restored"),
    [
        ({"a": 1, "maybe": 2}, {"a": 5, "maybe": 6}, {"a": {"count": 1}, "maybe": {"count": 2}}),
        ({"a": 1, "maybe": None}, {"a": 5, "maybe": 6}, {"a": {"count": 1}, "maybe": {"count": 6}}),
        ({"a": 1, "maybe": 2}, {"a": 5, "maybe": None}, {"a": {"count": 1}}),
        ({"a": 1, "maybe": None}, {"a": 5, "maybe": None}, {"a": {"count": 1}}),
    ],
)
def test_a_run_may_lack_an_optional_part(saved, present, restored):
    state = state_of_counters(**present)
    state.restore(state_of_counters(**saved).capture())
    assert state.capture() == restored


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": {"count": 1}}, "other parts: b"),
        ({"a": {"count": 1}, "b": {"count": 1}, "c": {"count": 1}}, "other parts: c"),
        ({"a": {"count": 1}, "b": {"count": 1}, 3: {}}, "other parts: 3"),
        ({"a": {"count": 1}, "b": {"counts": 1}}, "the b keeps no state counts"),
        ([], "no state of a run"),
    ],
)
def test_the_state_of_other_parts_is_refused(tree, message):
    with pytest.raises(CheckpointError, match=message):
        state_of_counters(a=5, b=6).restore(tree)


def test_parts_are_captured_and_restored_in_the_order_of_registration():
    calls = []

    class Part:
        def __init__(self, name):
            self.name = name

        def state_dict(self):
            calls.append(("capture", self.name))
            return {}

        def load_state_dict(self, state):
            calls.append(("restore", self.name))

    state = RunState(CONSOLE)
    for name in "bca":
        state.register(name, Part(name))
    tree = state.capture()
    state.restore(dict(sorted(tree.items())))
    assert calls == [("capture", name) for name in "bca"] + [("restore", name) for name in "bca"]


def test_a_name_is_registered_once_and_a_part_is_there_unless_it_is_optional():
    state = state_of_counters(a=1)
    with pytest.raises(ValueError, match="a is registered already"):
        state.register("a", _Counter(2))
    with pytest.raises(ValueError, match="b is missing"):
        state.register("b", None)


def test_attributes_that_appear_while_training_are_reported_once_and_not_saved(caplog):
    state, part = RunState(CONSOLE), _Counter(1)
    state.register("a", part)
    part.late = 3
    for _ in range(2):
        assert state.capture() == {"a": {"count": 1}}
    assert [record.message for record in caplog.records] == [
        "_Counter.late is set for the first time while training: checkpoints do not keep it, and a resumed run starts "
        "without it. Set it in __init__."
    ]


@pytest.mark.parametrize("had_a_copy", [True, False])
def test_a_copy_that_the_run_lacked_takes_the_state_of_its_original(had_a_copy):
    """Such as the controller that acts, of a run that is resumed where acting computes elsewhere."""
    old, copied, new, other = (nn.Linear(2, 2) for _ in range(4))
    first, second = RunState(CONSOLE), RunState(CONSOLE)
    first.register("mac", old)
    first.register("acting_mac", copied if had_a_copy else None, optional=True, like="mac")
    second.register("mac", new)
    second.register("acting_mac", other, optional=True, like="mac")
    second.restore(first.capture())
    assert new.weight.equal(old.weight)
    assert other.weight.equal(copied.weight if had_a_copy else old.weight)

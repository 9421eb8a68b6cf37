"""Declared fields travel through every source of environments as the environment shows them."""

import numpy as np
import pytest

import declared_envs
from convoy import DRONES, TRUCKS, Convoy
from envs import REGISTRY as environments
from envs.contract.seeds import environment_seed
from envs.contract.validation import InvalidEnvironmentError
from helpers import make_args
from odd_envs import WrongConvoy
from own_parts import registries_restored
from vector_envs import REGISTRY as SOURCES
from vector_envs import TRANSPORTS
from vector_envs.faults import EnvironmentWorkerError

SIZE, SEED = 3, 5
WAYS = ["batched", "in_process", *[f"workers {name} {count}" for name in TRANSPORTS for count in (1, 2)]]


@pytest.fixture(autouse=True)
def parts():
    with registries_restored():
        declared_envs.register()
        yield


@pytest.fixture
def make():
    made = []

    def start(way, **env_args):
        name, transport, count = [*way.split(), "pipe", "1"][:3]
        changes = {"env_transport": transport, "envs_per_worker": int(count), "env_args": {"seed": SEED, **env_args}}
        args = make_args(env="convoy", batch_size_run=SIZE, seed=SEED, runner="episodes", **changes)
        made.append(SOURCES[name](args))
        return made[-1]

    yield start
    for env in made:
        env.close()


def by_hand():
    return [Convoy(seed=environment_seed(SEED, b, False)) for b in range(SIZE)]


def choose(rng):
    """Legal actions of all copies: every drone's first lamp and every truck's first gear are."""
    return {
        "drones/fly": rng.uniform(-1, 1, size=(SIZE, DRONES, 2)).astype(np.float32),
        "drones/lamp": np.zeros((SIZE, DRONES), dtype=np.int64),
        "trucks/actions": np.where(rng.random((SIZE, TRUCKS)) < 0.3, 1, 0),
    }


def check_seen(env, copies, rows=range(SIZE)):
    observed = env.observed()
    for b in rows:
        seen = copies[b].observe()
        for path, value in seen.items():
            if path == "drones/obs/near":
                counts = observed["drones/obs/near/count"][b].tolist()
                assert counts == [len(rows) for rows in value]
                for i, rows_of_drone in enumerate(value):
                    assert np.allclose(observed[path][b, i, : counts[i]], rows_of_drone)
                    assert not observed[path][b, i, counts[i] :].any()
            else:
                assert np.allclose(observed[path][b], value), path
        assert observed["drones/obs/camera"].dtype == np.uint8
        assert observed["drones/present"].dtype == bool


@pytest.mark.parametrize("way", WAYS)
def test_observations_actions_and_outcomes(make, way):
    env, copies, rng = make(way).play(False), by_hand(), np.random.default_rng(0)
    env.reset()
    for copy in copies:
        copy.reset()
    playing = np.ones(SIZE, dtype=bool)
    while playing.any():
        check_seen(env, copies)
        actions = choose(rng)
        outcome = env.step(actions)
        for b in np.flatnonzero(playing).tolist():
            outcomes, terminated, truncated, info = copies[b].step({path: x[b] for path, x in actions.items()})
            for path, value in outcomes.items():
                assert np.allclose(outcome.values[path][b], value), path
            assert (outcome.terminated[b], outcome.truncated[b]) == (terminated, truncated)
            assert env.info(b) == info
            playing[b] = not (terminated or truncated)
    assert outcome.values["drones/reward"].shape == (SIZE, DRONES)
    assert outcome.values["drones/reward"].dtype == np.float32
    before = {path: value.copy() for path, value in env.observed().items()}
    env.step(choose(rng))
    assert all(np.array_equal(before[path], env.observed()[path]) for path in before)


@pytest.mark.parametrize("way", WAYS)
def test_a_state_is_resumed_in_the_midst_of_an_episode(make, way):
    rng, env = np.random.default_rng(1), make(way)
    env.play(False).reset()
    for _ in range(3):
        env.play(False).step(choose(rng))
    other = make("in_process" if way == "in_process" else way)
    assert other.load_state_dict(env.state_dict())
    later = np.random.default_rng(2).bit_generator.state
    outcomes = []
    for source in (env, other):
        generator = np.random.default_rng()
        generator.bit_generator.state = later
        outcome = source.play(False).step(choose(generator))
        outcomes.append(({path: x.copy() for path, x in outcome.values.items()}, source.play(False).observed()))
    for ours, theirs in zip(*outcomes, strict=True):
        assert all(np.array_equal(ours[path], theirs[path]) for path in ours)


@pytest.mark.parametrize(
    ("way", "wrong", "message"),
    [
        ("in_process", "missing", r"observe\(\) has no 'trucks/obs'"),
        ("workers shared_memory 2", "missing", r"observe\(\) has no 'trucks/obs'"),
        ("in_process", "rows", r"observe\(\)\['drones/obs/near'\]\[0\] has 4 rows, more than its capacity of 3"),
        ("in_process", "mask", r"trucks/avail_actions"),
        ("in_process", "mask of one", r"observe\(\)\['trucks/avail_actions'\] has the shape \(3, 1\)"),
        ("in_process", "picture", r"observe\(\)\['drones/obs/camera'\] has the shape \(2, 2, 2\)"),
        ("in_process", "reward", r"step\(\) returned no 'drones/reward'"),
        ("workers shared_memory 2", "both", r"returned terminated and truncated"),
    ],
)
def test_differences_from_the_declaration_are_named(way, wrong, message):
    environments.declare("wrong_convoy", WrongConvoy, "breaks its word")
    name, transport, count = [*way.split(), "pipe", "1"][:3]
    args = make_args(
        env="wrong_convoy",
        env_args={"wrong": wrong, "seed": SEED},
        batch_size_run=SIZE,
        seed=SEED,
        env_transport=transport,
        envs_per_worker=int(count),
        on_worker_fault="stop",
    )
    env = SOURCES[name](args)
    try:
        with pytest.raises((InvalidEnvironmentError, EnvironmentWorkerError), match=message):
            env.play(False).reset()
            env.play(False).step(choose(np.random.default_rng(0)))
    finally:
        env.close()

"""Episodes are recorded and read back, and a policy learns to choose what was chosen."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

import clone as door
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from entity_runs import parts_of
from envs.contract.fields import declared_spec, pymarl_spec
from envs.entities.batch import EntityBatch
from envs.recorded.description import Description
from envs.recorded.formats import open_data
from envs.recorded.recording import RecordingWriter
from experiment.cloning import Examples
from experiment.recordings import record
from learners.likelihood import likelihood
from learners.q_targets import masked_mean
from modules.policies.distributions import Categorical, Joint
from utils.errors import ConfigError

ENV_ARGS = {"environment": "NotHotdog", "kwargs": {}}


def expert_episodes(count, seed):
    """Episodes of NotHotdog whose player is always right, as a runner returns them."""
    env = EntityBatch(count, **ENV_ARGS, seed=seed)
    scheme, groups, preprocess = scheme_of(declared_spec(env))
    batch = EpisodeBatch(scheme, groups, count, 2, preprocess=preprocess)
    env.reset()
    batch.update(dict(env.observed()), ts=0)
    hotdogs = env.observed()["entities/Hotdog/count"] + env.observed()["entities/Object"][:, 0, 0]
    actions = np.stack([hotdogs.astype(int), np.zeros(count, int)], axis=1)
    outcomes, terminated, _ = env.step({"actions": actions})
    batch.update({"actions": actions[..., None], "reward": outcomes["reward"][:, None]}, ts=0)
    batch.update({"terminated": terminated[:, None].astype(int)}, ts=0)
    batch.update(dict(env.observed()), ts=1)
    assert outcomes["reward"].sum() == count
    return batch


def record_into(results, name, *batches):
    args = SimpleNamespace(
        local_results_path=str(results), unique_token=name, env="entities", env_args={**ENV_ARGS, "seed": 5}
    )
    spec = declared_spec(EntityBatch(1, **ENV_ARGS, seed=0))
    runner = SimpleNamespace(spec=spec)
    run = SimpleNamespace(args=args, runner=runner, scheme=scheme_of(spec)[0], play=lambda: iter(batches))
    return record(run)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    batches = [expert_episodes(60, 1), expert_episodes(40, 2)]
    said = record_into(results, "expert", *batches)
    assert said == {"folder": str(results / "recordings" / "expert"), "steps": 100, "episodes": 100}
    return results / "recordings" / "expert", batches


def test_what_was_recorded_is_read_back(recorded):
    folder, batches = recorded
    found = open_data(folder)
    assert (found.description.env, found.description.env_args) == ("entities", ENV_ARGS)
    (steps,) = found.parts()
    assert steps["episode"].tolist() == np.repeat(np.arange(100), 2).tolist()
    for key in ("entities/Object", "entities/Object/count", "actions", "avail_actions", "reward", "terminated"):
        expected = th.cat([batch[key].flatten(0, 1) for batch in batches]).numpy()
        assert np.array_equal(steps[key], expected.astype(steps[key].dtype)), key
    assert not {"filled", "actions_onehot"} & set(steps)


@pytest.mark.parametrize("single_steps", [True, False])
def test_no_episode_is_both_learned_from_and_tested_on(single_steps):
    scheme = {"x": {"vshape": (1,)}, "terminated": {"vshape": (1,), "dtype": th.uint8}}
    episodes = EpisodeBatch(scheme | {"truncated": scheme["terminated"]}, {}, 20, 6)
    episodes.update({"x": th.arange(20.0).view(20, 1, 1).expand(20, 6, 1)}, ts=slice(0, 6))
    examples = Examples(episodes, single_steps)
    assert examples.batch.batch_size == (100 if single_steps else 20)
    assert examples.steps_in_a_row == (1 if single_steps else 5)
    trained, tested = examples.split(0.2, seed=1)
    learned, seen = (set(examples.batch["x"][rows, 0, 0].tolist()) for rows in (trained, tested))
    assert len(seen) == 4 and len(learned) == 16 and not learned & seen
    assert not th.equal(tested, examples.split(0.2, seed=2)[1])
    with pytest.raises(ConfigError, match="it takes two"):
        Examples(episodes[:1], single_steps).split(0.2, seed=1)


class Table:
    """A policy of fixed logits."""

    def parameters(self):
        return []

    def unroll(self, steps):
        return self.logits, None

    def distribution(self, outputs, masks):
        return Joint({"actions": Categorical(outputs, masks["avail_actions"])})


def test_the_loss_is_the_mean_over_those_who_had_a_choice():
    scheme = {
        "actions": {"vshape": (1,), "group": "agents", "dtype": th.long, "kind": "action"},
        "avail_actions": {"vshape": (3,), "group": "agents", "dtype": th.int, "kind": "mask", "of": "actions"},
    }
    steps = EpisodeBatch(scheme, {"agents": 2}, 2, 1)
    steps.update({"actions": th.tensor([[[0], [0]], [[1], [2]]])}, ts=0)
    steps.update({"avail_actions": th.tensor([[[1, 1, 0], [1, 0, 0]], [[1, 1, 1], [1, 1, 1]]])}, ts=0)
    table = Table()
    # probabilities of the chosen: 1/2 of two, 1 of one (not counted), 2/4, 1/4
    table.logits = th.log(th.tensor([[[[1.0, 1, 9], [5, 5, 5]]], [[[1, 2, 1], [2, 1, 1]]]]))
    log_prob, right, several = likelihood(table, steps)
    loss, accuracy = -masked_mean(log_prob, several), masked_mean(right, several)
    assert loss.item() == pytest.approx(-(np.log(1 / 2) + np.log(1 / 2) + np.log(1 / 4)) / 3)
    assert accuracy.item() == pytest.approx(2 / 3)


def test_a_policy_is_cloned_and_saved(recorded, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [str(recorded[0]), "--epochs", "4", "--batch-size", "30", "--test-share", "0.2", "with", "lr=0.01"]
    code, shown = door.main(words), capsys.readouterr()
    assert code == 0, shown.err
    told = [line for line in (shown.out + shown.err).splitlines() if "Epoch" in line]
    first, *_, last = [dict(re.findall(r"(\w+) (-?[\d.]+)(?:,|$)", line)) for line in told]
    assert len(told) == 4
    assert 0.4 < float(first["test_cloning_loss"]) < np.log(2)
    assert float(last["test_cloning_loss"]) < 0.05 > float(last["cloning_loss"])
    assert float(last["test_cloning_accuracy"]) == float(last["cloning_accuracy"]) == 1
    (weights,) = (tmp_path / "results" / "models").glob("clone_enn_ppo_seed1_NotHotdog_*/0/agent.th")
    assert weights.stat().st_size > 1000
    folder = weights.parents[1]
    assert f"checkpoint_path={folder.relative_to(tmp_path)} trains it further" in shown.out
    parts, learner = parts_of("NotHotdog", {})
    parts.runner.close_env()
    learner.load_models(str(weights.parent))
    learned = learner.mac.agent.state_dict()
    assert all(th.equal(learned[name], weight) for name, weight in th.load(weights, weights_only=True).items())


def test_a_policy_with_a_memory_is_cloned_from_whole_episodes(tmp_path, capsys, monkeypatch):
    """Its last action is all that tells which step it is: the data alternate between two actions."""
    spec = pymarl_spec({"n_agents": 2, "n_actions": 3, "obs_shape": 1, "state_shape": 1, "episode_limit": 6})
    step = np.arange(180) % 6
    part = {
        "obs": np.ones((180, 2, 1), np.float32),
        "state": np.ones((180, 1), np.float32),
        "avail_actions": np.ones((180, 2, 3), np.uint8),
        "actions": (step % 2)[:, None, None].repeat(2, 1).astype(np.uint8),
        "reward": np.zeros((180, 1), np.float32),
        "terminated": (step == 5)[:, None].astype(np.uint8),
        "truncated": np.zeros((180, 1), np.uint8),
        "episode": np.arange(180) // 6,
    }
    arguments = {"game": "climbing", "episode_limit": 6}
    RecordingWriter(tmp_path / "data", Description(spec, {}, "matrix", arguments)).add(part)
    monkeypatch.chdir(tmp_path)
    assert door.main(["data", "--config", "ippo", "--epochs", "60", "--batch-size", "24", "with", "lr=0.01"]) == 0
    shown = capsys.readouterr()
    last = next(line for line in (shown.out + shown.err).splitlines() if "Epoch 60" in line)
    assert float(re.search(r"test_cloning_accuracy ([\d.]+)", last)[1]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "recording.json").unlink(), "it is no data set"),
        (lambda folder: (folder / "recording.json").write_text("[]"), "is not the header of a recording"),
        (lambda folder: _header(folder, version=1), "has version 1; this Muster reads version 2"),
        (lambda folder: (folder / "0.npz").unlink(), "has no steps"),
        (lambda folder: (folder / "0.npz").write_bytes(b"x"), "is damaged"),
        (lambda folder: _steps(folder, lambda steps: steps.pop("episode")), "it has no numbers of episodes"),
        (lambda folder: _steps(folder, lambda steps: steps.pop("acts")), "acts has the shape None"),
        (
            lambda folder: _header(folder, env_args={"environment": "Count"}),
            "has no field 'entities/Bean/count'",
        ),
        (lambda folder: _header(folder, env="nothing"), "nothing"),
    ],
)
def test_a_recording_that_cannot_be_used_is_refused(tmp_path, capsys, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    record_into(tmp_path, "r", expert_episodes(4, 1))
    change(tmp_path / "recordings" / "r")
    assert door.main(["recordings/r"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def _header(folder, **changes):
    header = json.loads((folder / "recording.json").read_text())
    (folder / "recording.json").write_text(json.dumps({**header, **changes}))


def _steps(folder, change):
    with np.load(folder / "0.npz") as arrays:
        steps = dict(arrays)
    change(steps)
    np.savez_compressed(folder / "0.npz", **steps)

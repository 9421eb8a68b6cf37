"""Episodes are recorded and read back, and a policy learns to choose what was chosen."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

import clone as door
from checkpoints.tree import load_tree, save_tree
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from entity_runs import parts_of
from envs.contract.fields import declared_spec
from envs.entities.batch import EntityBatch
from experiment.cloning import _likelihood
from experiment.recordings import read_recording, record, steps_of
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


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    args = SimpleNamespace(
        local_results_path=str(results), unique_token="expert", env="entities", env_args={**ENV_ARGS, "seed": 5}
    )
    batches = [expert_episodes(60, 1), expert_episodes(40, 2)]
    said = record(SimpleNamespace(args=args, play=lambda: iter(batches)))
    assert said == {"folder": str(results / "recordings" / "expert"), "steps": 100, "episodes": 100}
    return results / "recordings" / "expert", batches


def test_what_was_recorded_is_read_back(recorded):
    folder, batches = recorded
    found = read_recording(folder)
    assert (found.env, found.env_args) == ("entities", ENV_ARGS)
    assert found.steps["episode"].tolist() == list(range(100))
    for key in ("entities/Object", "entities/Object/count", "actions", "avail_actions", "reward"):
        assert th.equal(found.steps[key], th.cat([batch[key][:, 0] for batch in batches])), key
    assert not {"filled", "actions_onehot"} & set(found.steps)


def test_steps_are_those_that_were_taken_by_the_number_of_their_episode():
    scheme = {"x": {"vshape": (1,)}, "terminated": {"vshape": (1,), "dtype": th.uint8}}
    batch = EpisodeBatch(scheme | {"truncated": scheme["terminated"]}, {}, 2, 4)
    batch.update({"x": th.tensor([[[1.0], [2], [3], [4]], [[5], [6], [7], [8]]])}, ts=slice(0, 4))
    batch.update({"terminated": th.tensor([[0], [1]])}, bs=slice(0, 2), ts=1)
    batch.data.transition_data["filled"][1, 3] = 0
    batch.update({"truncated": th.tensor([[1]])}, bs=0, ts=2)
    steps = steps_of(batch, 7)
    assert steps["x"].flatten().tolist() == [1, 2, 3, 5, 6]
    assert steps["episode"].tolist() == [7, 7, 7, 8, 8]


def test_no_episode_is_both_learned_from_and_tested_on(recorded):
    found = read_recording(recorded[0])
    found.steps["episode"] //= 4
    trained, tested = found.split(0.2, seed=1)
    assert len(tested) == 20 and len(trained) == 80
    assert not set(found.steps["episode"][trained].tolist()) & set(found.steps["episode"][tested].tolist())
    assert not th.equal(tested, found.split(0.2, seed=2)[1])
    found.steps["episode"][:] = 3
    with pytest.raises(ConfigError, match="it takes two"):
        found.split(0.2, seed=1)


class Table:
    """A policy of fixed logits."""

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
    loss, accuracy = _likelihood(table, steps)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "recording.json").unlink(), "is no recording"),
        (lambda folder: (folder / "recording.json").write_text("[]"), "is not the header of a recording"),
        (lambda folder: _header(folder, version=2), "has version 2; this Muster reads version 1"),
        (lambda folder: (folder / "0.th").unlink(), "has no steps"),
        (lambda folder: (folder / "0.th").write_bytes(b"x"), "is damaged"),
        (lambda folder: _steps(folder, lambda steps: steps.pop("episode")), "different numbers of steps"),
        (lambda folder: _steps(folder, lambda steps: steps.pop("acts")), "has no field 'acts'"),
        (
            lambda folder: _header(folder, env_args={"environment": "Count"}),
            "has no field 'entities/Bean/count'",
        ),
        (lambda folder: _header(folder, env="nothing"), "nothing"),
    ],
)
def test_a_recording_that_cannot_be_used_is_refused(tmp_path, capsys, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    args = SimpleNamespace(local_results_path=".", unique_token="r", env="entities", env_args=ENV_ARGS)
    record(SimpleNamespace(args=args, play=lambda: iter([expert_episodes(4, 1)])))
    change(tmp_path / "recordings" / "r")
    assert door.main(["recordings/r"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def _header(folder, **changes):
    header = json.loads((folder / "recording.json").read_text())
    (folder / "recording.json").write_text(json.dumps({**header, **changes}))


def _steps(folder, change):
    steps = load_tree(folder / "0.th")
    change(steps)
    save_tree(steps, folder / "0.th")

"""One team for groups that are alike, for an environment without groups, and against its earlier self."""

import pytest

from controllers.teams import TeamControllers
from run import run
from team_runs import SCHEDULES, alone
from utils.errors import ConfigError

pytestmark = [pytest.mark.usefixtures("team_parts"), pytest.mark.slow]


@pytest.mark.parametrize(("runner", "algorithm"), SCHEDULES.items())
def test_groups_that_are_alike_are_one_team(tmp_path, logged, runner, algorithm):
    run(alone(tmp_path, "duel", algorithm, runner=runner, minibatches=1, save_model=True))
    assert len(logged["loss"]) >= 3
    assert len(set(logged["epsilon"])) > 1
    # one group's gain is the other's loss
    assert logged["test_red/return_mean"] == [-x for x in logged["test_blue/return_mean"]]
    assert set(logged["test_return_mean"]) == {0.0}
    assert list(tmp_path.glob("models/*/*/agent.th"))


def test_a_team_plays_against_its_earlier_self(tmp_path, logged, monkeypatch):
    run(alone(tmp_path / "first", "duel", "vdn", runner="episodes", save_model=True))
    path = str(next((tmp_path / "first").glob("models/*")))
    teams = {"red": {"config": "qmix"}, "past": {"groups": ["blue"], "checkpoint_path": path, "frozen": True}}
    chosen = {"red": {}, "blue": {}}
    decide = TeamControllers.decide

    def listen(self, batch, t, *rest, **options):
        decision = decide(self, batch, t, *rest, **options)
        for group, actions in chosen.items():
            for b in range(batch.batch_size if t == 0 else 0):
                for agent in range(2):
                    seen = (agent, *batch[f"{group}/obs"][b, 0, agent].tolist())
                    actions.setdefault(seen, set()).add(int(decision.actions[f"{group}/actions"][b, agent]))
        return decision

    monkeypatch.setattr(TeamControllers, "decide", listen)
    logged.clear()
    run(alone(tmp_path / "second", "duel", "vdn", runner="episodes", teams=teams))
    assert logged["red/loss"] and "past/loss" not in logged and "past/epsilon" not in logged
    # one explores, and the other does the same whenever it sees the same
    assert max(map(len, chosen["red"].values())) == 3
    assert max(map(len, chosen["blue"].values())) == 1


@pytest.mark.parametrize("runner", ["episodes", "rollout"])
def test_pictures_rewards_by_agent_and_agents_that_come_and_go_need_no_team(tmp_path, logged, runner):
    algorithm = {"episodes": "iql", "rollout": "pqn_vdn"}[runner]
    changes = {"mixer": None, "minibatches": 1, "t_max": 3000, "lr": 0.005, "rnn_hidden_dim": 32, "test_nepisode": 30}
    changes |= {"batch_size_run": 8, "batch_size": 16, "buffer_size": 400, "rollout_steps": 8, "test_interval": 1500}
    changes |= {"epsilon_anneal_time": 1500, "epsilon_finish": 0.02, "td_lambda": 0.0, "double_q": True}
    run(alone(tmp_path, "scouts", algorithm, runner=runner, **changes))
    # nine agents' steps of an episode are theirs, and the brightest column is right; absent ones are right by chance
    assert logged["test_return_mean"][0] < 6
    assert logged["test_return_mean"][-1] > 8.5


def test_the_needs_of_a_reward_by_agent(tmp_path):
    with pytest.raises(ConfigError, match="mixer=vdn does not go with env=scouts, which has a reward for each agent"):
        run(alone(tmp_path, "scouts", "vdn", runner="episodes"))
    with pytest.raises(ConfigError, match="critic=coma does not go with env=scouts, which has no field state"):
        run(alone(tmp_path, "scouts", "coma", runner="episodes", batch_size_run=1, batch_size=1, buffer_size=1))

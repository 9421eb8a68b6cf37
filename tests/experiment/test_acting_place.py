"""Where `acting_device=auto` acts, and what the console is told."""

from types import SimpleNamespace

import pytest

from checks.registries import REGISTRIES
from controllers.basic_controller import BasicMAC
from experiment.acting_place import SMALL, acting_place
from fakes import RecordingLogger
from gpu_runs import config_of
from own_parts import registries_restored
from small_training import assembled
from team_runs import config_of as config_of_teams


class _OwnMAC(BasicMAC):
    """A user's own, which computes as the house's does."""


def _choice(config, **changes):
    """What is chosen for a learner on a GPU, and the line on the console."""
    logger = RecordingLogger()
    lines = []
    logger.console_logger = SimpleNamespace(info=lines.append)
    with assembled(config) as parts:
        scheme, run = parts.runner.new_batch().scheme, parts.runner.args
        for args in (run, *(team.args for team in parts.teams)):
            vars(args).update({"device": "cuda:1", **changes})
        return acting_place(run, parts.teams, scheme, logger.console_logger), *lines


@pytest.mark.parametrize("algorithm", ["qmix", "ippo", "coma", "pqn_vdn"])
def test_small_decisions_of_prepared_networks_are_made_on_the_cpu(algorithm):
    place, line = _choice(config_of(algorithm))
    assert place == "cpu"
    assert line == (
        "Acting on the CPU, learning on cuda:1 (acting_device=auto): a decision for 2 agents takes less time there."
    )


def test_as_many_agents_as_the_cpu_is_faster_for():
    copies = SMALL // 2  # of two agents
    at_most = config_of(
        "qmix", "two_step", runner="batched", vector_env="in_process", batch_size_run=copies, buffer_size=copies
    )
    assert _choice(at_most)[0] == "cpu"
    more = config_of(
        "qmix", "two_step", runner="batched", vector_env="in_process", batch_size_run=copies + 1, buffer_size=copies + 1
    )
    assert _choice(more) == (
        "cuda:1",
        f"Acting on cuda:1, too (acting_device=auto): a decision is for {SMALL + 2} agents, more than {SMALL}.",
    )


def test_networks_without_a_prepared_pass_stay_with_the_learner():
    place, line = _choice(config_of("qmix", agent="lstm"))
    assert place == "cuda:1"
    assert line.endswith("mac=basic_mac with agent=lstm has no fast way of acting on the CPU.")


def test_random_fractions_are_many_rows_for_each_agent():
    place, line = _choice(config_of("iqn"))
    assert place == "cuda:1"
    assert line.endswith("agent=iqn looks at 32 fractions for each agent.")
    assert _choice(config_of("qr_dqn"))[0] == "cpu"


def test_weights_that_change_after_each_step_stay_with_the_learner():
    """The network has a prepared pass, but its weights would come from the GPU before each decision."""
    place, line = _choice(config_of("sac_discrete"))
    assert place == "cuda:1"
    assert line.endswith("the weights of mac=actor_mac change too often to be copied to the CPU.")


def test_pictures_have_no_prepared_pass():
    """The network has one, but its inputs are numbers of another type."""
    with assembled(config_of("qmix")) as parts:
        scheme = parts.runner.new_batch().scheme
        pictures = {**scheme, "obs": {**scheme["obs"], "dtype": "uint8"}}
        args = SimpleNamespace(**{**vars(parts.runner.args), "device": "cuda"})
        quiet = SimpleNamespace(info=lambda line: None)
        assert acting_place(args, parts.teams, scheme, quiet) == "cpu"
        assert acting_place(args, parts.teams, pictures, quiet) == "cuda"


def test_parts_of_ones_own_stay_with_the_learner():
    with registries_restored():
        REGISTRIES["mac"]["own_mac"] = _OwnMAC
        place, line = _choice(config_of("qmix", mac="own_mac"))
    assert place == "cuda:1"
    assert line.endswith("mac=own_mac is your own, and may count on it.")


@pytest.mark.parametrize("changes", [{"acting_device": "cuda:0"}, {"acting_device": "cpu"}, {"device": "cpu"}], ids=str)
def test_nothing_is_said_where_nothing_is_chosen(changes):
    assert len(_choice(config_of("qmix"), **changes)) == 1


def test_all_teams_act_together(tmp_path):
    """A decision is for the agents of all teams; if one has to stay with the learner, all do."""
    config = config_of_teams(tmp_path, "rollout")
    assert _choice(config)[1].endswith("mac=policy_mac with agent=ff has no fast way of acting on the CPU.")
    with assembled(config) as parts:
        agents = sum(parts.runner.spec.groups.values())
    copies = SMALL // agents + 1
    line = _choice({**config, "batch_size_run": copies, "buffer_size": 2 * copies})[1]
    assert line.endswith(f"a decision is for {copies * agents} agents, more than {SMALL}.")

"""Every algorithm on every small environment, every runner under every algorithm; new entries are covered at once."""

import pytest

from checks.registries import REGISTRIES
from cli.compose import compose_config
from learners import REGISTRY as learners
from run import run
from runners import REGISTRY as runners
from utils.config import config_names, recursive_dict_update
from utils.errors import ConfigError
from vector_envs.instances import constructor_of

SMALL_ENVIRONMENTS = [name for name in config_names("envs") if not name.startswith("sc2")]  # needs the game
SETTINGS = {"t_max": 30, "batch_size": 2, "buffer_size": 8, "batch_size_run": 1, "test_nepisode": 1, "seed": 1}


def _run(tmp_path, algorithm, environment, **changes):
    config = compose_config(algorithm, environment).config
    recursive_dict_update(config, {**SETTINGS, "local_results_path": str(tmp_path), **changes})
    if learners.entry(config["learner"]).traits.get("on_policy"):
        config["minibatches"] = 1
        config["batch_size"] = config["buffer_size"] = config["batch_size_run"]
    return run(config)


@pytest.mark.parametrize("algorithm", config_names("algs"))
@pytest.mark.parametrize("environment", SMALL_ENVIRONMENTS)
def test_every_algorithm_trains_on_every_environment(tmp_path, algorithm, environment):
    assert _run(tmp_path, algorithm, environment, runner="episode") is not None


@pytest.mark.parametrize("runner", sorted(runners))
@pytest.mark.parametrize("learner", sorted(learners))
@pytest.mark.parametrize("agent", sorted(REGISTRIES["agent"]))
def test_every_runner_carries_every_learner_and_agent(tmp_path, runner, learner, agent):
    algorithm = next(name for name in config_names("algs") if compose_config(name, "lbf").config["learner"] == learner)
    environments = 1 if runners.entry(runner).traits.get("max_environments") == 1 else 2
    changes = {"runner": runner, "agent": agent, "batch_size_run": environments}
    environment = "skirmish" if runners.entry(runner).traits.get("needs_batched") else "two_step"
    if runners.entry(runner).traits.get("cuts_episodes") and learners.entry(learner).traits.get("needs_episodes"):
        with pytest.raises(ConfigError, match=f"learner={learner} .* runner={runner}"):
            _run(tmp_path, algorithm, environment, **changes)
        return
    assert _run(tmp_path, algorithm, environment, **changes) is not None


def test_every_selector_of_policies_carries_coma(tmp_path):
    selectors = REGISTRIES["action_selector"]
    for name in selectors:
        if selectors.entry(name).traits["takes"] == "pi_logits":
            assert _run(tmp_path, "coma", "matrix", runner="episode", action_selector=name) is not None


@pytest.mark.parametrize("key", sorted(REGISTRIES))
def test_every_entry_exists_and_is_described(key):
    registry = REGISTRIES[key]
    for name in registry:
        assert registry.entry(name).description
        assert callable(registry[name])
        if not name.startswith("sc2"):
            assert constructor_of(registry[name]).__doc__


def test_every_key_that_a_built_in_part_reads_is_documented():
    """No default hides in a getattr, and nothing is documented that nobody reads (defect 19)."""
    import re
    from pathlib import Path

    from utils.config import default_config

    source = Path(__file__).resolve().parents[2] / "src"
    text = "\n".join(path.read_text() for path in source.rglob("*.py"))
    # a web request has arguments, too
    read = set(re.findall(r"(?<!request\.)\b_?args\.([a-z_]\w*)", text))
    added = {"n_agents", "n_actions", "state_shape", "episode_limit", "device", "unique_token", "seed"}
    documented = set(default_config())
    assert read - added <= documented
    assert not re.findall(r"getattr\((?:self\.)?args", text)
    for_bookkeeping = {"repeat_id", "label", "plugins"}  # plugins: read before there are args
    in_config = set(re.findall(r'config\["(\w+)"\]', text))
    assert documented <= read | in_config | for_bookkeeping


def test_every_documented_key_has_a_comment():
    from utils.config import CONFIG_DIR

    for line in (CONFIG_DIR / "default.yaml").read_text().splitlines():
        if line and not line.startswith("#"):
            assert " # " in line, line

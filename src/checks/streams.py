"""Environments whose agents are streams (`envs.contract.groups`), and the parts that can learn from such."""

from typing import Any

from envs import REGISTRY as environments
from utils.errors import ConfigError


def check_streams(config: dict[str, Any], traits: dict[str, dict]) -> None:
    """Refuse parts that would take several agents' episodes for one.

    Raises:
        ConfigError: names the part and a remedy.
    """
    name = config["env"]
    if not isinstance(name, str) or name not in environments or not environments.entry(name).traits.get("streams"):
        return
    where = f"env={name}: agents come and go within an episode of the run"
    if not traits["runner"].get("cuts_episodes"):
        raise ConfigError(f"{where}, and runner={config['runner']} plays whole ones. Use runner=rollout, as ppo does.")
    if not traits["learner"].get("on_policy"):
        raise ConfigError(
            f"{where}, which learner={config['learner']} cannot tell apart. Use --config=ppo, or another preset that "
            "learns from its newest rollouts."
        )
    for key in ("obs_last_action", "critic_rnn"):
        if config.get(key):
            raise ConfigError(f"{where}, and {key}=True would remember for whoever had the row. Use {key}=False.")

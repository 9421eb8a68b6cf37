"""Returns of random legal actions on an environment: the floor for learned returns.

python benchmarks/random_play.py --env-config=lbf --episodes=1000 env_args.key=Foraging-5x5-2p-1f-v3
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs import REGISTRY
from utils.config.merging import config_path
from utils.files.yaml_files import load_yaml


def random_returns(env_config: str, settings: dict[str, str], episodes: int, seed: int) -> np.ndarray:
    """Returns of `episodes` episodes in which every agent picks uniformly among its legal actions."""
    config = load_yaml(config_path(env_config, "envs"))
    env_args = {**config["env_args"], **settings, "seed": seed}
    env = REGISTRY[config["env"]](**env_args)
    rng = np.random.default_rng(seed)
    returns = np.zeros(episodes)
    for episode in range(episodes):
        env.reset()
        ended = False
        while not ended:
            legal = [np.flatnonzero(avail) for avail in env.get_avail_actions()]
            actions = [rng.choice(one) for one in legal]
            if hasattr(env, "fields"):
                outcomes, *ends, _ = env.step({"actions": np.array(actions)})
                reward, ended = outcomes["reward"], any(ends)
            else:
                reward, ended, _ = env.step(actions)
            returns[episode] += reward
    env.close()
    return returns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--env-config", required=True)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("settings", nargs="*", metavar="env_args.KEY=VALUE")
    options = parser.parse_args()
    settings = dict(s.removeprefix("env_args.").split("=", 1) for s in options.settings)
    returns = random_returns(options.env_config, settings, options.episodes, options.seed)
    error = returns.std(ddof=1) / np.sqrt(len(returns))
    print(f"random play: mean return {returns.mean():.3f} ± {1.96 * error:.3f} (95 %), {len(returns)} episodes")


if __name__ == "__main__":
    main()

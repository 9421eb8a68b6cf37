"""An action selector with a schedule of its own."""

import math
from types import SimpleNamespace

from components.action_selectors import EpsilonGreedyActionSelector


class CosineSelector(EpsilonGreedyActionSelector):
    """Epsilon-greedy; epsilon falls from `epsilon_start` to `epsilon_finish` along half a cosine."""

    def _schedule(self):
        args = self.args

        def eval(t_env):
            share = min(t_env / args.epsilon_anneal_time, 1)
            return (
                args.epsilon_finish + (args.epsilon_start - args.epsilon_finish) * (1 + math.cos(math.pi * share)) / 2
            )

        return SimpleNamespace(eval=eval)

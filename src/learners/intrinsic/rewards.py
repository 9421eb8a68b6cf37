"""How a learner of any kind gets intrinsic rewards: a network that makes them, learns with it and is saved with it."""

from typing import Any

import torch as th
import torch.nn as nn

from components.sampling.fields import with_more
from learners.figures import figure
from learners.intrinsic import REGISTRY
from learners.q_targets import masked_mean
from utils.config.merging import with_defaults
from utils.errors import ConfigError
from utils.numbers.schedules import Schedule
from utils.rl_utils import rewards_of, valid_transitions

NAME = "intrinsic"
# the environment's own rewards, in a batch that has more
OWN = "own_reward"


class IntrinsicReward(nn.Module):
    """Rewards of the transitions of a batch, by networks that learn from the same batch.

    Shapes: B rows of T + 1 time steps, n agents.
    """

    def __init__(self, scheme: Any, args: Any):
        super().__init__()
        self.args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.coefficient = Schedule.of(self.args.intrinsic_coef)

    def watch(self, learner: Any) -> None:
        """Make networks of what the learner has, once before it is trained."""

    def forward(self, batch: Any, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Rewards `[B, T, n]`, without gradients, and the loss of the networks.

        Args:
            mask: 1 for transitions that were really taken, `[B, T, n]`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define forward()")


def attach(learner: Any, scheme: Any, args: Any) -> Any:
    """Give a learner the intrinsic reward that the config names, if any; returns the learner.

    Its networks are saved as `intrinsic.th`, their optimiser as `intrinsic_opt.th`.

    Raises:
        ConfigError: it is a learner of the user's own without `networks` and `optimisers`.
    """
    if args.intrinsic is None:
        return learner
    if not (hasattr(learner, "networks") and hasattr(learner, "optimisers")):
        raise ConfigError(
            f"intrinsic={args.intrinsic} does not go with learner={args.learner}, which is no "
            "learners.base.BaseLearner. Use intrinsic=null."
        )
    learner.intrinsic = learner.networks[NAME] = REGISTRY[args.intrinsic](scheme, args)
    learner.intrinsic.watch(learner)
    learning = [weight for weight in learner.intrinsic.parameters() if weight.requires_grad]
    optimiser = th.optim.Adam(learning, lr=learner.intrinsic.args.intrinsic_lr)
    learner.optimisers[f"{NAME}_opt"] = optimiser
    return learner


def own_rewards(batch: Any) -> th.Tensor:
    """The environment's rewards of a batch, `[B, T - 1, 1 or n]`, without those of `rewarded`."""
    return batch[OWN][:, :-1] if OWN in batch.scheme else rewards_of(batch)


def rewarded(learner: Any, batch: Any, t_env: int) -> Any:
    """The batch as `learner` learns from it: with intrinsic rewards, if it has any, whose networks make a step."""
    part = getattr(learner, NAME, None)
    if part is None:
        return batch
    mask = valid_transitions(batch, by_agent=True).expand(-1, -1, learner.args.n_agents)
    rewards, loss = part(batch, mask)
    learner._step(learner.optimisers[f"{NAME}_opt"], loss)
    if t_env - learner.log_stats_t >= learner.args.learner_log_interval:
        mean = masked_mean(rewards, mask)
        learner._log({"intrinsic_reward": figure(mean), "intrinsic_loss": figure(loss)}, t_env)
    own = batch["reward"]
    if own.size(2) == 1:  # the team's
        rewards = (rewards * mask).sum(2, keepdim=True) / mask.sum(2, keepdim=True).clamp(min=1)
    bonus = th.zeros_like(own)
    bonus[:, :-1] = (part.coefficient.eval(t_env) * rewards).view_as(own[:, :-1]).to(own.dtype)
    made = with_more(batch, {"reward": own + bonus, OWN: own})
    if str(batch.device) != "cpu":  # what is known of it in main memory stays known
        made.know_course(batch.course().data.transition_data)
    return made

"""Q-learning with a random partition of the entities (REFIL, Iqbal et al. 2021)."""

from typing import Any

import torch as th

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import Learned, gather_actions, values_of_present
from utils.errors import ConfigError


class REFILLearner(QLearner):
    """`QLearner`, and the same error of values that are imagined: as if agents knew but one of two groups of entities.

    In each episode the state's E entities are divided at random into two groups (section 3.1). Of each agent there is
    a value by the entities of its own group, and one by those of the other, itself left out. The mixer makes Q_aux of
    both, whose targets are those of Q_tot (eq. 8):

        (1 - lambda) (Q_tot - y)^2 + lambda (Q_aux - y)^2.

    Raises:
        ConfigError: it is not known which entities of the state agents see; networks are to compute padding, too.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if self._sees_padding():
            raise ConfigError("learner=refil_learner computes no padding. Use standardise_padding=False.")
        # of each agent, itself and what it sees, as numbers of the state's entities: [n, 1 + entities]
        self._seen = th.tensor(mac.agent.seen.in_state(args.meaning, args.n_agents), device=args.device)

    def _loss(self, td_error: th.Tensor, mask: th.Tensor) -> th.Tensor:
        return (1 - self.args.imagined_coef) * super()._loss(td_error, mask)

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """The loss of Q_aux."""
        batch = unroll.batch
        groups = random_groups(batch.batch_size, self.mixer.entities.size, batch["state"].device)
        groups = unroll.take(groups.unsqueeze(1).expand(-1, batch.max_seq_length, -1))  # [P, E]
        seen_groups = groups[:, self._seen]
        together = seen_groups == seen_groups[..., :1]
        actions = unroll.take(batch["actions"])
        imagined = [self._forward(unroll.outputs_by, self.mac, kept) for kept in (together, ~together)]
        values = [values_of_present(gather_actions(x, actions), unroll) for x in imagined]
        of_steps = th.cat(values, 1), unroll.take(batch["state"]), groups
        mixed = self._forward(self.mixer.imagined, *(x.unsqueeze(0) for x in of_steps)).squeeze(0)
        td_error = unroll.spread(mixed)[:, :-1] - learned[1]
        loss = self.args.imagined_coef * super()._loss(td_error, mask)
        return loss, {"imagined_loss": figure(loss)}


def random_groups(episodes: int, entities: int, device: Any) -> th.Tensor:
    """In which of two groups each entity is in each episode: bool `[B, E]`, with a share that is drawn, too."""
    return th.rand(episodes, entities, device=device) < th.rand(episodes, 1, device=device)

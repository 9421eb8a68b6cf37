"""EOI: agents that are known by what they see, and act by it at times (Jiang & Lu 2021)."""

import copy
import math
from typing import Any, ClassVar

import torch as th

from components.one_copy import moved
from learners.a2c_learner import A2CLearner
from learners.figures import figure
from modules.individuality import ObservationNet
from utils.rl_utils import valid_transitions


class EOILearner(A2CLearner):
    """A2C, after steps of a classifier p(i | o) of who sees an observation and of intrinsic values of actions.

    Values learn by Q-learning from the reward alpha p(i | o), eq. 3: what leads an agent to where it is known. They do
    not change the policy's loss, as in PyMARLzoo+; `EOIMAC` acts by them at times. Both learn from the rollout's
    transitions of all agents, in their order, `eoi_batch_size` a step.
    """

    batch_fields: ClassVar = {"explores_by_ivf": {"vshape": 1, "group": None}}
    without_gradient: ClassVar = {"agent.ivf.*": "it learns by an optimiser of its own, from enough transitions"}

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        args = self.args
        self.classifier = ObservationNet(mac.seen_size, args.eoi_hidden_dim, args.n_agents)
        self.target_ivf = copy.deepcopy(mac.agent.ivf)
        self.networks |= {"classifier": self.classifier, "target_ivf": self.target_ivf}
        adam = th.optim.Adam
        self.classifier_optimiser = self.optimisers["classifier_opt"] = adam(self.classifier.parameters(), args.eoi_lr)
        self.ivf_optimiser = self.optimisers["ivf_opt"] = adam(mac.agent.ivf.parameters(), args.ivf_lr)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update from `batch`."""
        losses = [self._learn(rows) for rows in self._parts(batch)]
        if losses and t_env - self.log_stats_t >= self.args.learner_log_interval:
            of_classifier, of_values = (th.stack(kind).mean() for kind in zip(*losses, strict=True))
            self._log({"eoi_loss": figure(of_classifier), "ivf_loss": figure(of_values)}, t_env)
        super().train(batch, t_env, episode_num)

    def _parts(self, batch: Any) -> list[dict[str, th.Tensor]]:
        """The transitions that agents made, one after another, `eoi_batch_size` in each part."""
        # in main memory, where a GPU is not asked how many there are
        mask = valid_transitions(batch.course(), by_agent=True).expand(-1, -1, self.args.n_agents)
        if self.args.eoi_leaves_out:
            mask = mask.clone()
            mask[:, self.args.episode_limit - 1 :] = 0
        [rows] = moved([mask.flatten().nonzero().squeeze(1)], batch.device)
        size = self.args.eoi_batch_size
        seen = self.mac.with_ids(self.mac.seen(batch, slice(None)))
        of_team = batch["terminated"][:, :-1].expand(-1, -1, self.args.n_agents)
        columns = {
            "now": seen[:, :-1].flatten(0, 2),
            "next": seen[:, 1:].flatten(0, 2),
            "actions": batch["actions"][:, :-1].reshape(-1, 1),
            "over": of_team.reshape(-1, 1).float(),
        }
        if self.args.eoi_leaves_out:
            rows = rows[: (len(rows) - 1) // size * size]
        return [{name: column[part] for name, column in columns.items()} for part in rows.split(size) if len(part)]

    def _learn(self, rows: dict[str, th.Tensor]) -> tuple[th.Tensor, th.Tensor]:
        """A step of the classifier, then one of the values and their target; returns both losses."""
        args, n = self.args, self.args.n_agents
        seen, who = rows["next"].split([rows["next"].size(1) - n, n], dim=1)
        probs = self.classifier(seen).softmax(dim=1)
        log_probs = (probs + 1e-8).log()
        eoi_loss = -(who * log_probs).mean() - args.eoi_b2_reg * (probs * log_probs).mean()
        self._step(self.classifier_optimiser, eoi_loss, math.inf)
        values = self.mac.agent.ivf(rows["now"]).gather(1, rows["actions"])
        with th.no_grad():
            seen, who = rows["now"].split([seen.size(1), n], dim=1)
            known = (self.classifier(seen).softmax(dim=1) * who).sum(dim=1, keepdim=True)
            following = self.target_ivf(rows["next"]).amax(dim=1, keepdim=True)
            targets = args.ivf_alpha_intrinsic_r * known + args.ivf_gamma * (1 - rows["over"]) * following
        ivf_loss = (values - targets).square().mean() / args.n_actions
        self._step(self.ivf_optimiser, ivf_loss, math.inf)
        kept, taken = args.ivf_tau, args.ivf_tau if args.ivf_target_adds else 1 - args.ivf_tau
        with th.no_grad():
            for target, weight in zip(self.target_ivf.parameters(), self.mac.agent.ivf.parameters(), strict=True):
                target.mul_(kept).add_(taken * weight)
        return eoi_loss.detach(), ivf_loss.detach()

"""The common part of actor-critic learners: a policy, a critic, and the parts of a batch that their updates see."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch as th

from components.sampling.compose import Compose, TransformContext
from components.sampling.listed import listed_transforms
from components.sampling.parts import with_fields
from controllers.contract import controller
from controllers.hidden_states import fields_before
from controllers.inputs import known_before_steps
from controllers.unroll import BatchUnroll
from learners.action_evaluation import ActionEvaluation, pi_max, value_statistics
from learners.advantages import AdvantageEstimator
from learners.base import RATES, BaseLearner
from learners.critics_apart import clip_apart
from learners.figures import Figure, figure
from learners.q_targets import mix
from learners.state_values import PRESENT, StateValues
from learners.steps_on_gpu import parameters_of
from learners.update_order import TOGETHER, UpdateOrder
from modules.critics import REGISTRY as critic_REGISTRY
from modules.mixers import build_mixer
from modules.policies.policy import plain
from utils.errors import ConfigError
from utils.numbers.schedules import Schedule
from utils.rl_utils import memory_starts, valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.tensors.schemes import (
    AGENTS,
    action_fields,
    choice_masks,
    chosen_fields,
    field_before,
    is_rollout,
    observed_fields,
    state_fields,
)
from utils.tensors.tensor_trees import map_tree
from utils.timing import timed


class ActorCriticLearner(BaseLearner):
    """A policy, and values of states by a critic or by the policy's own network; on-policy.

    `learns_from_copies`: the policy is updated in a copy even if all agents are updated together.
    """

    learns_from_copies = False
    # whether parts of batches are cut by `cut_across`
    chunks_across = False

    @staticmethod
    def needs_acting(args) -> tuple[str, ...]:
        """What it needs of decisions, by its options."""
        return ("log_prob",) if args.vtrace else ()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.critic = critic_REGISTRY[self.args.critic](scheme, self.args)
        self.mixer = None if self.args.mixer is None else build_mixer(self.args.mixer, self.args)
        mixing = None if self.mixer is None else partial(mix, self, self.mixer)
        self.state_values = StateValues(
            self.critic, mac, self._forward, self.args.batch_size_run, mixing, self.args.normalise_padding
        )
        # whether the critic makes its steps with the policy
        self.one_step = self.state_values.shared_trunk or self.args.joint_step
        apart = self.learns_from_copies or self.args.update_order != TOGETHER
        # None: the policy itself is updated, all agents at once
        self.order = UpdateOrder(mac, self.args) if apart else None
        if self.order is not None:
            self.mac_copies = self.order.macs
        parameters = [weight for each in self.mac_copies or [mac] for weight in each.parameters()]
        of_mixer: list[th.nn.Parameter] = []
        if self.mixer is not None:
            self.networks["mixer"], of_mixer = self.mixer, list(self.mixer.parameters())
            if self.args.target_update_interval_or_tau is not None:
                raise ConfigError("target_update_interval_or_tau: a critic with a mixer has no target network.")
        of_values = [*self.critic.parameters(), *of_mixer]
        if self.one_step:
            parameters += of_values
        self.agent_optimiser = self.optimisers["agent_opt"] = build_optimiser(parameters, self.args.lr, self.args)
        self.target_critic = None
        if not self.state_values.shared_trunk:
            self.networks["critic"] = self.critic
            if self.args.target_update_interval_or_tau is not None:
                if self.state_values.memory is not None:
                    raise ConfigError("target_update_interval_or_tau: a critic with a memory has no target network.")
                _, self.target_critic = self.add_network("critic", self.critic)
        if not self.one_step:
            self.critic_optimiser = self.optimisers["critic_opt"] = build_optimiser(
                of_values, self.args.critic_lr, self.args
            )
        if self.args.vtrace and (self.args.q_nstep or self.target_critic is not None):
            raise ConfigError("vtrace=True: targets are V-trace's. Use q_nstep=0, target_update_interval_or_tau=null.")
        self.estimator = AdvantageEstimator(scheme, self.args)
        self.networks |= self.estimator.networks
        self.entropy_coef = Schedule.of(self.args.entropy_coef)
        if self.args.entropy_finish is not None:
            first = self.entropy_coef.eval(0)
            self.entropy_coef = Schedule([(0, first), (self.args.t_max, self.args.entropy_finish)])
        finish = 1.0 if self.args.lr_finish is None else self.args.lr_finish / self.args.lr
        self.lr_share = Schedule([(0, 1.0), (self.args.t_max, finish)])
        self.sampling = TransformContext("the learner's transforms", self.args, getattr(logger, "console_logger", None))
        self._actions = chosen_fields(scheme)
        self._masks = list(choice_masks(scheme).values())
        inputs = [*observed_fields(scheme), *state_fields(scheme), *action_fields(scheme), *self._actions, *self._masks]
        inputs += controller(mac).input_fields
        if self.mixer is not None:
            inputs.append(PRESENT)
        self._inputs = list(dict.fromkeys(key for key in inputs if key in scheme))

    def evaluate_actions(self, batch: Any, mac: Any = None) -> ActionEvaluation:
        """Log-probabilities and entropies of a batch's actions, and values, with gradients.

        By a copy of the policy, `mac`, for the batch of its turn (`UpdateOrder`), there are no values.
        """
        alone, mac = mac is not None, mac or self.mac
        unroll = BatchUnroll(batch, mac)
        outputs = self._forward(unroll.outputs, mac)
        policy = mac.distribution(outputs, {mask: unroll.take(batch[mask]) for mask in self._masks})
        lead = outputs.dim() - 1
        log_prob = policy.log_prob({action: plain(unroll.take(batch[action]), lead) for action in self._actions})
        log_prob, entropy = unroll.spread(log_prob), unroll.spread(policy.entropy())
        values = None if alone else self.state_values.of_sample(batch, unroll, outputs)
        return ActionEvaluation(log_prob, entropy, values, pi_max(policy, unroll.spread), policy, unroll.spread)

    @th.no_grad()
    def log_prob(self, batch: Any, mac: Any) -> th.Tensor:
        """Of the actions of a batch of T + 1 steps, `[B, T, n]`, by the policy or a copy of it."""
        return self.evaluate_actions(self.sample(batch, {}, mac=mac), mac).log_prob

    @th.no_grad()
    def values(self, batch: Any, critic: Any = None) -> th.Tensor:
        """The outputs of the critic, or of this one, for all states of a batch, `[B, T, n]`."""
        with timed("critic"):
            return self.state_values.of(batch, critic)

    def estimates(self, batch: Any, rewards: th.Tensor | None = None) -> dict[str, th.Tensor]:
        """See `AdvantageEstimator.of`."""
        target_outputs = None if self.target_critic is None else self.values(batch, self.target_critic)
        ratios = self._ratios(batch) if self.args.vtrace else None
        return self.estimator.of(batch, self.values(batch), target_outputs, rewards, ratios)

    def _ratios(self, batch: Any) -> th.Tensor:
        """Of the probabilities of a batch's actions, the policy's to those of acting, `[B, T, n]`."""
        return (self.log_prob(batch, self.mac) - batch["log_prob"][:, :-1].squeeze(3)).exp()

    def sample(
        self, batch: Any, estimates: dict[str, th.Tensor], chunk_length: int = 0, burn_in: int = 0, mac: Any = None
    ) -> Any:
        """The transitions of a batch with their estimates, of which updates take rows.

        With `chunk_length`, a row is a part of a rollout of that many steps and `burn_in` before them, and starts from
        the memory that the policy had there. Whole episodes stay whole. `mac`: as for `evaluate_actions`.
        """
        values = None if mac is not None else self.state_values
        mac = mac or self.mac
        before = {} if values is None else values.fields_before(batch)
        if estimates and self.estimator.learn_padding != "nothing":
            estimates = {**estimates, "filled": th.ones_like(batch["filled"][:, :-1])}
        across = self.chunks_across and chunk_length > 0
        if across:
            estimates = {**estimates, "resets": 1 - valid_transitions(batch)}
            before |= self._nothing_before(batch, mac, values)
        sample = with_fields(batch, self._inputs, batch.max_seq_length - 1, estimates, before)
        if chunk_length == 1 and controller(mac).memoryless:  # steps in any order
            return self.compose({"flatten": {"counted": True}})(sample)
        if not across and (chunk_length in (0, sample.max_seq_length) or not is_rollout(batch)):
            return self.compose()(sample)
        with th.no_grad():
            unroll = BatchUnroll(sample, mac)
            _, memory = unroll.outputs_and_memory(mac)
        memory = map_tree(unroll.spread, memory)
        mac.init_hidden(batch.batch_size)
        before = sample, memory, mac.hidden_states, memory_starts(sample)

        def known(steps: th.Tensor) -> dict[str, th.Tensor]:
            of_critic = {} if values is None else values.fields_before_steps(sample, steps)
            return known_before_steps(*before, steps) | of_critic

        self.sampling.known = known
        if across:
            return self.compose({"cut_across": {"length": chunk_length}})(sample)
        return self.compose({"cut_rows": {"length": chunk_length, "burn_in": burn_in}})(sample)

    def _nothing_before(self, batch: Any, mac: Any, values: StateValues | None) -> dict[str, th.Tensor]:
        """What is known before the first step of whole episodes, as constant fields: a rollout has these fields."""
        if is_rollout(batch):
            return {}
        mac.init_hidden(batch.batch_size)
        fields = fields_before(mac.hidden_states, batch.batch_size, batch.groups[AGENTS])
        fields |= {field_before(key): th.zeros_like(batch[key][:, 0]) for key in action_fields(batch.scheme)}
        return fields if values is None else fields | values.fields_of_episodes(batch)

    def learned_returns(self, sample: Any) -> th.Tensor | None:
        """A sample's returns in the units of values, if they are not the sample's own."""
        later, norm = self.estimator.normalised_later, self.estimator.value_norm
        return norm.normalize(sample["returns"]) if later and norm is not None else None

    def compose(self, *transforms: dict) -> Compose:
        """Transforms of this learner, with `debug_transforms` those that look at what each makes."""
        listed = listed_transforms(self.sampling.key, transforms, "columns", ("columns", "steps", "parts"))
        return Compose(listed, self.sampling, self.args.debug_transforms)

    def anneal(self, t_env: int) -> None:
        """Set the learning rates of step `t_env`."""
        share = self.lr_share.eval(t_env)
        for name, optimiser in self.optimisers.items():
            if name == "intrinsic_opt":  # which keeps its own
                continue
            for group in optimiser.param_groups:
                group["lr"] = share * vars(self.args)[RATES.get(name, "lr")]

    def step(self, policy_loss: th.Tensor, value_loss: th.Tensor | None) -> dict[str, Figure]:
        """One step of the policy and of the critic; of both at once with `one_step`, or of the former alone."""
        if value_loss is None:
            return {"agent_grad_norm": self._step(self.agent_optimiser, policy_loss)}
        if self.one_step:
            loss = policy_loss + self.args.value_coef * value_loss
            return {"agent_grad_norm": self._step(self.agent_optimiser, loss)}
        norms = self._steps({self.critic_optimiser: self._of_critics(value_loss), self.agent_optimiser: policy_loss})
        return dict(zip(("critic_grad_norm", "agent_grad_norm"), norms, strict=True))

    def step_values(
        self, sample: Any, loss_of: Callable[[th.Tensor], th.Tensor], with_statistics: bool
    ) -> dict[str, Figure]:
        """One step of the critic alone, down the loss of its values; returns what is logged, `with_statistics`."""
        values = self.state_values.of_sample(sample, BatchUnroll(sample, self.mac, packed=False))
        loss = loss_of(values)
        norm = self._step(self.critic_optimiser, self._of_critics(loss))
        if not with_statistics:
            return {}
        found = value_statistics(sample, values, self.learned_returns(sample))
        return {"critic_loss": figure(loss), "critic_grad_norm": norm, **found}

    def _of_critics(self, loss: th.Tensor) -> th.Tensor:
        """The critics' loss, a mean over agents; with `critics_apart` the sum."""
        return loss * self.args.n_agents if self.args.critics_apart else loss

    def _clip(self, optimiser: th.optim.Optimizer, most: float) -> th.Tensor:
        """With `critics_apart`, by each critic's own norm; returns their mean."""
        if not self.args.critics_apart or optimiser is not self.critic_optimiser:
            return super()._clip(optimiser, most)
        return clip_apart(parameters_of(optimiser), most)

    def finish(self, batch: Any) -> None:
        """After the updates from a batch: its observations count in their normalisation, and the target follows."""
        if normalised := [part for part in (self.mac, self.critic) if hasattr(part, "take_in")]:
            course = batch.course()
            seen = course["filled"][:, :-1]
            if "present" in course.scheme:
                seen = seen * course["present"][:, :-1].squeeze(3)
            for part in normalised:  # the last step of a rollout is the first of the next one
                part.take_in(batch[:, :-1], seen)
        self.state_values.next_rollout()
        if self.target_critic is not None:
            interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
            self._update_targets_by(interval_or_tau, every)

"""Whether a learner or an agent does what runs ask of it."""

import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch as th

from checkpoints.parts import declared_names, load_state, state_of
from components.episode_batch import EpisodeBatch
from controllers import REGISTRY as controllers
from experiment.learning_checks import faults_of_learning, weights_of
from learners import REGISTRY as learners
from learners.networks import networks_of
from modules.agents import REGISTRY as agents
from muster.testing.made import fill, make_args, random_batch
from muster.testing.recording_logger import RecordingLogger
from utils.config.registry import Registry
from utils.tensors.redirected import redirected

LENGTHS, STEPS = (3, 5, 1, 4), 6
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


class FailedCheck(AssertionError):
    """A part does not do what runs ask of it; the message has every fault."""


def check_learner(learner: Any, batch: EpisodeBatch | None = None, **changes: Any) -> None:
    """Whether a learner learns, and keeps what it has learned.

    Every weight must get a gradient (or be named in its `without_gradient`), padding must change nothing, models and
    checkpoints must give back what they were made of, and all weights must move to another device.

    Args:
        learner: its class, or its name in the registry.
        batch: to learn from; None: episodes of unequal lengths with random numbers in all of PyMARL's fields.
        changes: of the config, such as mixer="qmix"; the other keys have their defaults.

    Raises:
        FailedCheck: names all that is wrong.
    """
    with _registered(learners, "learner", learner) as name:
        args = _args(learners, name, {"learner": name, "learner_log_interval": 1, "grad_norm_clip": 1e9, **changes})
        batch = random_batch(LENGTHS, STEPS, ["terminated", "truncated"] * 2) if batch is None else batch
        made = lambda seed: _made(batch, args, seed)  # noqa: E731
        faults = faults_of_learning(made(1), batch)
        faults += _faults_of_models(made(1), made(2), batch)
        faults += _faults_of_resuming(made(1), made(2), batch)
        faults += _faults_of_devices(made(1))
    _require_none(learner, faults)


def check_agent(agent: Any, batch: EpisodeBatch | None = None, **changes: Any) -> None:
    """Whether the forms of an agent compute the same: step by step, all steps at once, and with weights of each agent.

    Args:
        agent: its class, or its name in the registry.
        batch: whose observations it sees; None: as for `check_learner`.
        changes: of the config.

    Raises:
        FailedCheck: names the forms that differ.
    """
    with _registered(agents, "agent", agent) as name:
        batch = random_batch(LENGTHS, STEPS) if batch is None else batch
        args = _args(agents, name, {"agent": name, **changes})
        shared = _controller(batch, args)
        fill(shared.parameters(), seed=1)
        faults = _faults_of_forms(shared, batch, "shared weights")
        if args.share_params:
            own = _controller(batch, SimpleNamespace(**{**vars(args), "share_params": False}))
            faults += _faults_of_unshared(shared, own, batch)
        grown = th.autograd.grad(_outputs_by_steps(shared, batch).sum(), list(shared.parameters()), allow_unused=True)
        unused = [key for key, x in zip(_names(shared), grown, strict=True) if x is None]
        if unused:
            faults.append(f"no output depends on the weights {', '.join(unused)}")
    _require_none(agent, faults)


class _registered:
    """Within it, a part has a name in its registry: its own, or one that is removed at the end."""

    def __init__(self, registry: Registry, kind: str, part: Any):
        self._registry, self._part = registry, part
        self._name = part if isinstance(part, str) else f"the {kind} of a check"

    def __enter__(self) -> str:
        if not isinstance(self._part, str):
            entries = [self._registry.entry(name) for name in self._registry]
            known = next((entry for entry in entries if entry.target is self._part), None)
            self._registry[self._name] = self._part
            if known is not None and known.declared:
                self._registry.declare(self._name, self._part, known.description, known.options, **known.traits)
        return self._name

    def __exit__(self, *error: Any) -> None:
        if not isinstance(self._part, str):
            del self._registry[self._name]


def _args(registry: Registry, name: str, changes: Mapping[str, Any]) -> SimpleNamespace:
    """Arguments with the defaults that the part declares."""
    return make_args(**{**registry.entry(name).defaults, **changes})


def _controller(batch: EpisodeBatch, args: SimpleNamespace) -> Any:
    return controllers[args.mac](batch.scheme, batch.groups, args)


def _made(batch: EpisodeBatch, args: SimpleNamespace, seed: int) -> Any:
    th.manual_seed(seed)
    args = copy.deepcopy(args)
    return learners[args.learner](_controller(batch, args), batch.scheme, RecordingLogger(), args)


def _faults_of_models(learner: Any, other: Any, batch: EpisodeBatch) -> list[str]:
    learner.train(batch, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        learner.save_models(folder)
        written = sorted(path.name for path in Path(folder).iterdir())
        other.load_models(folder)
    lost = _different(weights_of(learner), weights_of(other))
    return (
        [f"load_models does not give back {', '.join(lost)} (save_models wrote {', '.join(written)})"] if lost else []
    )


def _faults_of_resuming(learner: Any, other: Any, batch: EpisodeBatch) -> list[str]:
    """A learner with the state of another one must go the same way as that."""
    parts = (("learner", lambda one: one), ("controller", lambda one: one.mac))
    declared = {name: declared_names(part(learner)) for name, part in parts}
    learner.train(batch, 0, 0)
    for name, part in parts:
        left_out: list[str] = []
        load_state(part(other), copy.deepcopy(state_of(part(learner), declared[name], left_out)), f"the {name}")
        if left_out:
            return [f"{', '.join(left_out)}: set for the first time in train(), checkpoints do not keep it"]
    for one in (learner, other):
        th.manual_seed(3)
        for number in range(2):
            one.train(batch, 100 * (number + 1), number + 1)
    lost = _different(weights_of(learner), weights_of(other))
    return [f"after resuming, training goes another way: {', '.join(lost)} differ"] if lost else []


def _faults_of_devices(learner: Any) -> list[str]:
    """On the device `meta`, which every machine has, everything arrives that `cuda()` moves."""
    with redirected("cuda", "meta"):
        learner.cuda()
    weights = [
        (name, key, weight) for name, one in networks_of(learner, learner.mac) for key, weight in one.named_parameters()
    ]
    left = dict.fromkeys(f"{name}.{key}" for name, key, weight in weights if not weight.is_meta)
    return [f"cuda() leaves {', '.join(left)} on the CPU"] if left else []


def _faults_of_forms(mac: Any, batch: EpisodeBatch, which: str) -> list[str]:
    if not mac._agent_supports_packing():
        return []
    with th.no_grad():
        by_steps = _outputs_by_steps(mac, batch)
        at_once, _ = mac.unroll(batch)
        inputs = mac.packed_inputs(batch)
        packed, _ = mac.unroll_packed(inputs, inputs.steps.take(batch["avail_actions"]))
    played = batch["filled"].bool().squeeze(-1)
    forms = {"all steps at once (encode, sequence)": at_once, "packed steps": inputs.steps.spread(packed)}
    return [
        f"{form} computes other outputs than forward, {which}: by up to {_distance(found, by_steps, played):.2g}"
        for form, found in forms.items()
        if not th.allclose(found[played], by_steps[played], **CLOSE)  # type: ignore[arg-type]
    ]


def _faults_of_unshared(shared: Any, own: Any, batch: EpisodeBatch) -> list[str]:
    """With the same weights for each agent, the unshared form must compute what the shared one does."""
    with th.no_grad():
        for key, weight in zip(_names(own), own.parameters(), strict=True):
            of_all = dict(zip(_names(shared), shared.parameters(), strict=True))[key]
            weight.copy_(of_all.expand_as(weight))
        found, expected = _outputs_by_steps(own, batch), _outputs_by_steps(shared, batch)
    played = batch["filled"].bool().squeeze(-1)
    if th.allclose(found[played], expected[played], **CLOSE):  # type: ignore[arg-type]
        return _faults_of_forms(own, batch, "weights of each agent's own")
    by = _distance(found, expected, played)
    return [f"share_params=False computes other outputs with the same weights: by up to {by:.2g}"]


def _outputs_by_steps(mac: Any, batch: EpisodeBatch) -> th.Tensor:
    mac.init_hidden(batch.batch_size)
    return th.stack([mac.forward(batch, t) for t in range(batch.max_seq_length)], dim=1)


def _names(mac: Any) -> list[str]:
    return [name for name, _ in mac.agent.named_parameters()]


def _distance(these: th.Tensor, those: th.Tensor, played: th.Tensor) -> float:
    return float((these - those)[played].abs().max())


def _different(these: Mapping[str, th.Tensor], those: Mapping[str, th.Tensor]) -> list[str]:
    return [name for name, weight in these.items() if not th.allclose(weight, those[name], **CLOSE)]  # type: ignore[arg-type]


def _require_none(part: Any, faults: list[str]) -> None:
    if faults:
        name = part if isinstance(part, str) else part.__name__
        raise FailedCheck(f"{name}:" + "".join(f"\n- {fault}" for fault in faults))

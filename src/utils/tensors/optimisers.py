"""The optimiser an experiment asks for."""

from collections.abc import Iterable

import torch as th
from torch.nn import Module
from torch.optim import Adam, Optimizer, RAdam, RMSprop

from utils.tensors.devices import CUDA, kind_of


def build_optimiser(params, lr: float, args) -> Optimizer:
    """RMSprop (PyMARL's), Adam or RAdam over `params`, by `args.optimizer`.

    Raises:
        ValueError: another name.
    """
    capturable = args.cuda_graphs == "on" and kind_of(args.device) == CUDA
    betas = args.optim_beta1, 0.999
    optimiser: Optimizer
    if args.optimizer == "rmsprop":
        more = {"alpha": args.optim_alpha, "foreach": True}
        optimiser = RMSprop(params, lr=lr, eps=args.optim_eps, capturable=capturable, **more)
    elif args.optimizer == "adam":
        optimiser = Adam(params, lr=lr, betas=betas, eps=args.optim_eps, fused=True, capturable=capturable)
    elif args.optimizer == "radam":
        optimiser = RAdam(params, lr=lr, betas=betas, eps=args.optim_eps, foreach=True, capturable=capturable)
    else:
        raise ValueError(f"optimizer is 'rmsprop', 'adam' or 'radam', not '{args.optimizer}'")
    optimiser.register_load_state_dict_post_hook(_stay_capturable)
    return optimiser


def _stay_capturable(optimiser: Optimizer) -> None:
    """Count steps where this run needs it, whatever the run did that saved the state."""
    capturable = optimiser.defaults["capturable"]
    for group in optimiser.param_groups:
        group["capturable"] = capturable
        for parameter in group["params"]:
            state = optimiser.state.get(parameter, {})
            if "step" in state and not group.get("fused"):
                state["step"] = state["step"].to(parameter.device if capturable else "cpu")


def make_step(optimiser: Optimizer) -> None:
    """`optimiser.step()`; of fused Adam on the CPU without its checks, which take longer than a small step."""
    plain = "step" not in vars(optimiser) and optimiser.state
    if (
        type(optimiser) is not Adam
        or not plain
        or optimiser._optimizer_step_pre_hooks
        or optimiser._optimizer_step_post_hooks
    ):
        optimiser.step()
        return
    groups = [_fused_group(optimiser, group) for group in optimiser.param_groups]
    known = [group for group in groups if group is not None]
    if len(known) < len(groups):
        optimiser.step()
        return
    with th.no_grad():
        for tensors, options in known:
            th._foreach_add_(tensors[-1], 1)
            th._fused_adam_(*tensors, **options)


def _fused_group(optimiser: Adam, group: dict) -> tuple[list[list[th.Tensor]], dict] | None:
    """The arguments of torch's kernel; None: `step` has more to do than to call it."""
    parameters = [p for p in group["params"] if p.grad is not None]
    states = [optimiser.state.get(p, {}) for p in parameters]
    decoupled = group.get("decoupled_weight_decay")  # which torch 2.6 has not
    unusual = not group["fused"] or group["amsgrad"] or group["differentiable"] or decoupled
    if unusual or isinstance(group["lr"], th.Tensor) or not parameters or not all(states):
        return None
    if not all(p.is_cpu and p.dtype is th.float32 and p.grad.layout is th.strided for p in parameters):
        return None
    moments = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq")]
    tensors = [parameters, [p.grad for p in parameters], *moments, [], [state["step"] for state in states]]
    beta1, beta2 = group["betas"]
    options = {"amsgrad": False, "lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"]}
    options |= {"weight_decay": group["weight_decay"], "maximize": group["maximize"]}
    return tensors, options


def parameter_names(optimiser: Optimizer, modules: Iterable[Module]) -> list[str]:
    """The names that the parameters of an optimiser have in these modules, in its order; "" of one that is in none."""
    names = {id(parameter): name for module in modules for name, parameter in module.named_parameters()}
    return [names.get(id(parameter), "") for group in optimiser.param_groups for parameter in group["params"]]

"""The optimiser an experiment asks for."""

from collections.abc import Iterable

from torch.nn import Module
from torch.optim import Adam, Optimizer, RAdam, RMSprop


def build_optimiser(params, lr: float, args) -> Optimizer:
    """RMSprop (PyMARL's), Adam or RAdam over `params`, by `args.optimizer`.

    Raises:
        ValueError: another name.
    """
    if args.optimizer == "rmsprop":
        return RMSprop(params, lr=lr, alpha=args.optim_alpha, eps=args.optim_eps, foreach=True)
    if args.optimizer == "adam":
        return Adam(params, lr=lr, eps=args.optim_eps, fused=True)
    if args.optimizer == "radam":
        return RAdam(params, lr=lr, eps=args.optim_eps, foreach=True)
    raise ValueError(f"optimizer is 'rmsprop', 'adam' or 'radam', not '{args.optimizer}'")


def parameter_names(optimiser: Optimizer, modules: Iterable[Module]) -> list[str]:
    """The names that the parameters of an optimiser have in these modules, in its order; "" of one that is in none."""
    names = {id(parameter): name for module in modules for name, parameter in module.named_parameters()}
    return [names.get(id(parameter), "") for group in optimiser.param_groups for parameter in group["params"]]

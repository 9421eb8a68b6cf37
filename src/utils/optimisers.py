"""The optimiser an experiment asks for."""

from torch.optim import Adam, Optimizer, RMSprop


def build_optimiser(params, lr: float, args) -> Optimizer:
    """RMSprop (PyMARL's) or Adam over `params`, by `args.optimizer`.

    Raises:
        ValueError: another name.
    """
    if args.optimizer == "rmsprop":
        return RMSprop(params, lr=lr, alpha=args.optim_alpha, eps=args.optim_eps, foreach=True)
    if args.optimizer == "adam":
        return Adam(params, lr=lr, eps=args.optim_eps, fused=True)
    raise ValueError(f"optimizer is 'rmsprop' or 'adam', not '{args.optimizer}'")

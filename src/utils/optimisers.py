"""The optimiser an experiment asks for."""

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

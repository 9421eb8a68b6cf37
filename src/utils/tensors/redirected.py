"""Programs that name one device, on another one."""

import threading
from typing import Any

import torch as th
from torch.overrides import TorchFunctionMode

_active = threading.local()


class redirected(TorchFunctionMode):
    """Within it, what this thread's calls of torch would put on devices of a kind goes to `device`.

    `with redirected("cuda", "mps"):` is meant for `cuda()` of networks and tensors, `to("cuda")` and `device="cuda"`.
    """

    def __init__(self, kind: str, device: str):
        super().__init__()
        self._kind, self._device = kind, th.device(device)

    def __enter__(self) -> "redirected":
        _active.depth = getattr(_active, "depth", 0) + 1
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        _active.depth -= 1
        super().__exit__(*error)

    @staticmethod
    def is_active() -> bool:
        """Whether this thread is within one."""
        return getattr(_active, "depth", 0) > 0

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is getattr(th.Tensor, self._kind, None):
            return args[0].to(self._device)
        kwargs = {key: self._there(value) for key, value in (kwargs or {}).items()}
        return func(*map(self._there, args), **kwargs)

    def _there(self, value: Any) -> Any:
        is_one = isinstance(value, str | th.device) and str(value).partition(":")[0] == self._kind
        return self._device if is_one else value

"""Programs that name one device, on another one."""

from typing import Any

import torch as th
from torch.overrides import TorchFunctionMode


class redirected(TorchFunctionMode):
    """Within it, what this thread's calls of torch would put on devices of a kind goes to `device`.

    `with redirected("cuda", "mps"):` is meant for `cuda()` of networks and tensors, `to("cuda")` and `device="cuda"`.
    """

    def __init__(self, kind: str, device: str):
        super().__init__()
        self._kind, self._device = kind, th.device(device)

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is getattr(th.Tensor, self._kind, None):
            return args[0].to(self._device)
        kwargs = {key: self._there(value) for key, value in (kwargs or {}).items()}
        return func(*map(self._there, args), **kwargs)

    def _there(self, value: Any) -> Any:
        is_one = isinstance(value, str | th.device) and str(value).partition(":")[0] == self._kind
        return self._device if is_one else value

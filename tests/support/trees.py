"""Comparing states."""

import numpy as np
import torch as th


def differences(a, b, where=""):
    """Where two trees differ, in any bit."""
    if isinstance(a, dict):
        if set(a) != set(b):
            return [f"{where}: {sorted(map(str, set(a) ^ set(b)))}"]
        return [text for key in a for text in differences(a[key], b[key], f"{where}[{key!r}]")]
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return [f"{where}: {len(a)} and {len(b)} entries"]
        return [text for i, (x, y) in enumerate(zip(a, b, strict=True)) for text in differences(x, y, f"{where}[{i}]")]
    if isinstance(a, th.Tensor):
        same = a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
        return [] if same else [f"{where}: tensors differ"]
    if isinstance(a, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return [] if same else [f"{where}: arrays differ"]
    return [] if a == b or (a != a and b != b) else [f"{where}: {a} and {b}"]

"""Layers that this folder's networks share; `from modules.layers import ...` finds them here."""

import torch.nn as nn


def row_layer(features: int, size: int) -> nn.Module:
    """The same layer for each row."""
    return nn.Sequential(nn.Linear(features, size), nn.ReLU(), nn.Linear(size, size))

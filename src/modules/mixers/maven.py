"""The mixer of MAVEN (Mahajan et al. 2019): QMIX whose hypernetworks also see the latent variable of the episode."""

import copy

import numpy as np
import torch as th

from modules.mixers import REGISTRY
from modules.mixers.qmix import QMixer
from utils.config.merging import with_defaults


class MAVENMixer(QMixer):
    """`QMixer` of the state and the latent side by side; Z = `noise_dim`."""

    def __init__(self, args):
        args = copy.copy(with_defaults(args, REGISTRY.defaults_of(type(self))))
        args.state_shape = int(np.prod(args.state_shape)) + args.noise_dim
        super().__init__(args)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor, *latents: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]`, states `[B, T, S]` and latents `[B, T, Z]` -> Q_tot `[B, T, 1]`."""
        return super().forward(agent_qs, th.cat([states, *latents], dim=-1))

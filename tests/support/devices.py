"""Stand-ins for two GPUs: torch's own replicas, whose weights are copied on the CPU, computed one after another."""

import sys

import torch as th
import torch.nn as nn

CPUS = ["cpu", "cpu"]


def use_cpus(monkeypatch):
    """Let torch.nn.parallel divide on the CPU; returns the sizes of what each replica got, call by call."""
    module, replicate, calls = sys.modules["torch.nn.parallel.replicate"], nn.parallel.replicate, []

    def broadcast(tensors, devices, detach=False):
        # as torch's: gradients come back to the network's own weights
        return [[x.detach() if detach else x * 1 for x in tensors] for _ in devices]

    def on_cpu(network, devices, detach=False):
        return replicate(network, list(range(len(devices))), detach)

    def apply(replicas, inputs, kwargs_tup=None, devices=None):
        calls.append([x[0].shape for x in inputs])
        assert len({id(replica) for replica in replicas}) == len(inputs) == len(devices)
        return [replica(*x) for replica, x in zip(replicas, inputs, strict=True)]

    def gather(outputs, device, dim=0):
        if isinstance(outputs[0], th.Tensor):
            return th.cat(outputs, dim)
        if isinstance(outputs[0], dict):
            return {key: gather([output[key] for output in outputs], device, dim) for key in outputs[0]}
        return None if outputs[0] is None else tuple(gather(x, device, dim) for x in zip(*outputs, strict=True))

    monkeypatch.setattr(module, "_broadcast_coalesced_reshape", broadcast)
    monkeypatch.setattr(nn.parallel, "replicate", on_cpu)
    monkeypatch.setattr(nn.parallel, "parallel_apply", apply)
    monkeypatch.setattr(nn.parallel, "gather", gather)
    return calls

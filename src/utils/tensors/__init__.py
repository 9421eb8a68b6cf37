"""Tensors: devices, operations that suit a GPU, optimisers."""

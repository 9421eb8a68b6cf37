"""Simulators in a process of their own that share memory with a trainer: the protocols of ML-Agents DOTS."""

from dots_simulator.arguments import parse_arguments
from dots_simulator.behaviour import Behaviour
from dots_simulator.simulator import Simulator

__all__ = ["Behaviour", "Simulator", "parse_arguments"]

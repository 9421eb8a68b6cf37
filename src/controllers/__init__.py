"""Multi-agent controllers (MACs): observations in, actions out."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("controller")
REGISTRY.declare("basic_mac", "controllers.basic_controller:BasicMAC", "one network shared by all agents (PyMARL)")

__getattr__ = lazy_classes(__name__, REGISTRY)

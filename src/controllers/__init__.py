"""Multi-agent controllers (MACs): observations in, actions out."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("controller")
REGISTRY.declare(
    "basic_mac",
    "controllers.basic_controller:BasicMAC",
    "one network shared by all agents (PyMARL)",
    reads=(
        "agent",
        "action_selector",
        "agent_output_type",
        "mask_before_softmax",
        "obs_agent_id",
        "obs_last_action",
    ),
)

__getattr__ = lazy_classes(__name__, REGISTRY)

"""Multi-agent controllers (MACs): observations in, actions out."""

from utils.options import SHAPES, SHARED, Option
from utils.registry import Registry, lazy_classes

REGISTRY = Registry("controller")
REGISTRY.declare(
    "basic_mac",
    "controllers.basic_controller:BasicMAC",
    "one network shared by all agents (PyMARL)",
    options={
        "agent": Option(SHARED, "network of an agent (registry: agents)", resume=SHAPES),
        "action_selector": Option(
            SHARED, "how actions are chosen from the agent's outputs (registry: action selectors)"
        ),
        "agent_output_type": Option(
            SHARED,
            "the agent's outputs: q (action values) or pi_logits (policy logits)",
            choices=("q", "pi_logits"),
            resume=SHAPES,
        ),
        "obs_agent_id": Option(SHARED, "append the agent's one-hot number to its observation", resume=SHAPES),
        "obs_last_action": Option(SHARED, "append the agent's last action, one-hot, to its observation", resume=SHAPES),
        "mask_before_softmax": Option(
            True, "pi_logits: give illegal actions probability 0 before the softmax, not after it"
        ),
    },
)

__getattr__ = lazy_classes(__name__, REGISTRY)

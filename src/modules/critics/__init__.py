"""Critics: the value estimates of actor-critic learners."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("critic")
REGISTRY.declare(
    "coma", "modules.critics.coma:COMACritic", "values of an agent's actions, given the others' (COMA)", options={}
)

__getattr__ = lazy_classes(__name__, REGISTRY)

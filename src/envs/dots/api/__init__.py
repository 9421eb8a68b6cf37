"""The Python API of ML-Agents, for those who want just that: the names of mlagents_envs, over shared memory.

from envs.dots.api import ActionTuple, UnityEnvironment

env = UnityEnvironment("simulators/ball_3d.py")
env.reset()
name = next(iter(env.behavior_specs))
decisions, ended = env.get_steps(name)
env.set_actions(name, env.behavior_specs[name].action_spec.random_action(len(decisions)))
env.step()
env.close()
"""

from envs.dots.api.actions import ActionSpec, ActionTuple
from envs.dots.api.exceptions import (
    UnityActionException,
    UnityCommunicationException,
    UnityEnvironmentException,
    UnityException,
    UnityTimeOutException,
)
from envs.dots.api.specs import BehaviorMapping, BehaviorSpec, DimensionProperty, ObservationSpec, ObservationType
from envs.dots.api.steps import DecisionStep, DecisionSteps, TerminalStep, TerminalSteps
from envs.dots.api.unity_environment import UnityEnvironment
from envs.dots.side_channels import (
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    FloatPropertiesChannel,
    IncomingMessage,
    OutgoingMessage,
    RawBytesChannel,
    SideChannel,
    StatsAggregationMethod,
    StatsSideChannel,
)

__all__ = [
    "ActionSpec",
    "ActionTuple",
    "BehaviorMapping",
    "BehaviorSpec",
    "DecisionStep",
    "DecisionSteps",
    "DimensionProperty",
    "EngineConfigurationChannel",
    "EnvironmentParametersChannel",
    "FloatPropertiesChannel",
    "IncomingMessage",
    "ObservationSpec",
    "ObservationType",
    "OutgoingMessage",
    "RawBytesChannel",
    "SideChannel",
    "StatsAggregationMethod",
    "StatsSideChannel",
    "TerminalStep",
    "TerminalSteps",
    "UnityActionException",
    "UnityCommunicationException",
    "UnityEnvironment",
    "UnityEnvironmentException",
    "UnityException",
    "UnityTimeOutException",
]

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

from envs.dots.api.exceptions import (
    UnityActionException,
    UnityCommunicationException,
    UnityCommunicatorStoppedException,
    UnityEnvironmentException,
    UnityException,
    UnityObservationException,
    UnityPolicyException,
    UnitySideChannelException,
    UnityTimeOutException,
    UnityWorkerInUseException,
)
from envs.dots.api.group_environment import AgentGroupSpec, BatchedStepResult, StepResult
from envs.dots.api.module_names import alias_ml_agents
from envs.dots.api.specs import (
    ActionSpec,
    ActionTuple,
    ActionType,
    BehaviorMapping,
    BehaviorSpec,
    DimensionProperty,
    ObservationSpec,
    ObservationType,
)
from envs.dots.api.steps import DecisionStep, DecisionSteps, TerminalStep, TerminalSteps
from envs.dots.api.unity_environment import (
    AgentGroup,
    AgentId,
    BaseEnv,
    BehaviorName,
    GroupId,
    UnityEnvironment,
)
from envs.dots.side_channels import (
    EngineConfig,
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    EnvironmentStats,
    FloatPropertiesChannel,
    IncomingMessage,
    OutgoingMessage,
    RawBytesChannel,
    SideChannel,
    SideChannelManager,
    StatsAggregationMethod,
    StatsSideChannel,
)

__all__ = [
    "ActionSpec",
    "ActionTuple",
    "ActionType",
    "AgentGroup",
    "AgentGroupSpec",
    "AgentId",
    "BaseEnv",
    "BatchedStepResult",
    "BehaviorMapping",
    "BehaviorName",
    "BehaviorSpec",
    "DecisionStep",
    "DecisionSteps",
    "DimensionProperty",
    "EngineConfig",
    "EngineConfigurationChannel",
    "EnvironmentParametersChannel",
    "EnvironmentStats",
    "FloatPropertiesChannel",
    "GroupId",
    "IncomingMessage",
    "ObservationSpec",
    "ObservationType",
    "OutgoingMessage",
    "RawBytesChannel",
    "SideChannel",
    "SideChannelManager",
    "StatsAggregationMethod",
    "StatsSideChannel",
    "StepResult",
    "TerminalStep",
    "TerminalSteps",
    "UnityActionException",
    "UnityCommunicationException",
    "UnityCommunicatorStoppedException",
    "UnityEnvironment",
    "UnityEnvironmentException",
    "UnityException",
    "UnityObservationException",
    "UnityPolicyException",
    "UnitySideChannelException",
    "UnityTimeOutException",
    "UnityWorkerInUseException",
    "alias_ml_agents",
]

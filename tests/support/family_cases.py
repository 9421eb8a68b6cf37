"""Which files of PyMARL, EPyMARL and PyMARL2 are trained with which of their presets."""

from dataclasses import dataclass, field
from typing import Any

# the registrations in the families' own __init__.py files, by file: (name, class)
REGISTERED = {
    "pymarl": {
        "learners/q_learner": ("their_q", "QLearner"),
        "learners/qtran_learner": ("their_qtran", "QLearner"),
        "learners/coma_learner": ("their_coma", "COMALearner"),
        "modules/mixers/qmix": ("their_qmix", "QMixer"),
        "modules/mixers/vdn": ("their_vdn", "VDNMixer"),
        "modules/mixers/qtran": ("their_qtran", "QTranBase"),
        "modules/agents/rnn_agent": ("their_rnn", "RNNAgent"),
        "modules/critics/coma": ("their_coma", "COMACritic"),
        "controllers/basic_controller": ("their_mac", "BasicMAC"),
    },
    "epymarl": {
        "learners/q_learner": ("their_q", "QLearner"),
        "learners/qtran_learner": ("their_qtran", "QLearner"),
        "learners/coma_learner": ("their_coma", "COMALearner"),
        "learners/actor_critic_learner": ("actor_critic_learner", "ActorCriticLearner"),
        "learners/ppo_learner": ("ppo_learner", "PPOLearner"),
        "learners/maddpg_learner": ("maddpg_learner", "MADDPGLearner"),
        "learners/actor_critic_pac_learner": ("pac_learner", "PACActorCriticLearner"),
        "modules/mixers/qmix": ("their_qmix", "QMixer"),
        "modules/mixers/vdn": ("their_vdn", "VDNMixer"),
        "modules/agents/rnn_agent": ("their_rnn", "RNNAgent"),
        "modules/agents/rnn_ns_agent": ("rnn_ns", "RNNNSAgent"),
        "modules/critics/coma": ("coma_critic", "COMACritic"),
        "modules/critics/coma_ns": ("coma_critic_ns", "COMACriticNS"),
        "modules/critics/ac": ("ac_critic", "ACCritic"),
        "modules/critics/ac_ns": ("ac_critic_ns", "ACCriticNS"),
        "modules/critics/centralV": ("cv_critic", "CentralVCritic"),
        "modules/critics/centralV_ns": ("cv_critic_ns", "CentralVCriticNS"),
        "modules/critics/maddpg": ("maddpg_critic", "MADDPGCritic"),
        "modules/critics/maddpg_ns": ("maddpg_critic_ns", "MADDPGCriticNS"),
        "controllers/basic_controller": ("their_mac", "BasicMAC"),
        "controllers/non_shared_controller": ("non_shared_mac", "NonSharedMAC"),
        "controllers/maddpg_controller": ("maddpg_mac", "MADDPGMAC"),
        "envs/gymma": ("gymma", "GymmaWrapper"),
    },
    "pymarl2": {
        "learners/q_learner": ("their_q", "QLearner"),
        "learners/nq_learner": ("nq_learner", "NQLearner"),
        "learners/qtran_learner": ("their_qtran", "QLearner"),
        "learners/coma_learner": ("their_coma", "COMALearner"),
        "learners/ppo_learner": ("ppo_learner", "PPOLearner"),
        "learners/lica_learner": ("lica_learner", "LICALearner"),
        "learners/policy_gradient_v2": ("policy_gradient_v2", "PGLearner_v2"),
        "learners/max_q_learner": ("max_q_learner", "MAXQLearner"),
        "learners/fmac_learner": ("fmac_learner", "FMACLearner"),
        "learners/dmaq_qatten_learner": ("dmaq_qatten_learner", "DMAQ_qattenLearner"),
        "modules/mixers/nmix": ("nmix", "Mixer"),
        "modules/mixers/qmix": ("their_qmix", "QMixer"),
        "modules/mixers/qatten": ("qatten", "QattenMixer"),
        "modules/agents/n_rnn_agent": ("n_rnn", "NRNNAgent"),
        "modules/agents/rnn_agent": ("their_rnn", "RNNAgent"),
        "modules/agents/ff_agent": ("their_ff", "FFAgent"),
        "modules/agents/atten_rnn_agent": ("att_rnn", "ATTRNNAgent"),
        "modules/agents/noisy_agents": ("noisy_rnn", "NoisyRNNAgent"),
        "modules/agents/conv_agent": ("conv_agent", "ConvAgent"),
        "modules/agents/rnn_ppo_agent": ("rnn_ppo", "RNNPPOAgent"),
        "modules/agents/central_rnn_agent": ("central_rnn", "CentralRNNAgent"),
        "controllers/basic_controller": ("their_mac", "BasicMAC"),
        "controllers/n_controller": ("n_mac", "NMAC"),
        "controllers/conv_controller": ("conv_mac", "ConvMAC"),
        "controllers/ppo_controller": ("ppo_mac", "PPOMAC"),
        "controllers/lica_controller": ("lica_mac", "LICAMAC"),
        "controllers/basic_central_controller": ("basic_central_mac", "CentralBasicMAC"),
        "envs/matrix_game/one_step_matrix_game": ("one_step_matrix_game", "OneStepMatrixGame"),
        "envs/stag_hunt/stag_hunt": ("stag_hunt", "StagHunt"),
    },
}
# files that others import, by family
HELPERS = {
    "pymarl": (),
    "epymarl": (
        "modules/critics/mlp modules/critics/pac_ac modules/critics/pac_ac_ns modules/critics/pac_dcg_ns envs/wrappers "
        "envs/pz_wrapper envs/pretrained/__init__ envs/pretrained/tag envs/pretrained/ddpg envs/pretrained/adversary"
    ).split(),
    "pymarl2": (
        "modules/layer/self_atten modules/mixers/dmaq_general modules/mixers/dmaq_si_weight utils/noisy_liner "
        "modules/mixers/qmix_central_no_hyper modules/critics/fmac_critic modules/critics/lica "
        "envs/matrix_game/__init__ envs/stag_hunt/__init__"
    ).split(),
}
# files of ours that theirs of the same path takes the place of
REPLACED = ("components/action_selectors", "modules/critics/__init__")
# declared, as the batch needs a field for it
TRAITS = {"ppo_learner": {"batch_fields": {"probs": {"vshape": ["n_actions"]}}}}


@dataclass
class Case:
    """Files that are put beside ours (stems, or paths without .py), a preset of their family, and what differs here.

    `env`: the family's config of the environment; "": docs/examples/meeting.py. `needs`: packages that the files import
    and we may not have. `without_cuda`: why they do not run on a CPU, if so.
    """

    family: str
    preset: str
    files: str
    changes: dict[str, Any] = field(default_factory=dict)
    env: str = ""
    needs: tuple[str, ...] = ()
    without_cuda: str = ""

    def __str__(self) -> str:
        return f"{self.family}-{self.preset}-{self.files.replace(' ', '+').replace('/', '.')}"

    def paths(self) -> list[str]:
        """The files' paths under the family's src/, without .py."""
        known = {path.rpartition("/")[2]: path for path in (*REGISTERED[self.family], *HELPERS[self.family])}
        return [file if "/" in file else known[file] for file in self.files.split()]


REPLAY = {"buffer_size": 16}
OUR_Q = {**REPLAY, "learner": "q_learner", "mac": "basic_mac", "agent": "rnn"}
OUR_QTRAN = {**OUR_Q, "learner": "qtran_learner"}
RNN = {"agent": "their_rnn"}
UNSHARED = "rnn_agent rnn_ns_agent mlp non_shared_controller"
NQ = "nq_learner nmix qatten"
N_RNN = "n_controller n_rnn_agent"
CENTRAL = "max_q_learner basic_central_controller central_rnn_agent qmix_central_no_hyper"
SELECTORS = "components/action_selectors"
MATRIX = "envs/matrix_game/__init__ one_step_matrix_game"
PRETRAINED = "envs/pretrained/__init__ tag ddpg adversary"
LBF = {"key": "lbforaging:Foraging-5x5-2p-1f-v3", "time_limit": 10, "pretrained_wrapper": None}
GYMMA = {"env": "gymma", "env_args": {**LBF, "common_reward": True, "reward_scalarisation": "sum"}}
ONE_STEP = {"env": "one_step_matrix_game", "env_args": {}}
HUNT = {"env_args": {"n_agents": 4, "episode_limit": 12, "world_shape": [6, 6]}}

CASES = [
    Case("pymarl", "iql", "q_learner", REPLAY),
    Case("pymarl", "vdn", "q_learner", REPLAY),
    Case("pymarl", "qmix", "q_learner", REPLAY),
    Case("pymarl", "qtran", "qtran_learner", REPLAY),
    Case("pymarl", "coma", "coma_learner"),
    Case("pymarl", "qmix", "modules/mixers/qmix", {**OUR_Q, "mixer": "their_qmix"}),
    Case("pymarl", "vdn", "modules/mixers/vdn", {**OUR_Q, "mixer": "their_vdn"}),
    Case("pymarl", "qtran", "modules/mixers/qtran", {**OUR_QTRAN, "mixer": "their_qtran"}),
    Case("pymarl", "qmix", "rnn_agent", {**OUR_Q, **RNN}),
    Case("pymarl", "qmix", "basic_controller", {**OUR_Q, "mac": "their_mac"}),
    Case("pymarl", "coma", "modules/critics/coma", {"critic": "their_coma"}),
    Case("epymarl", "iql", "q_learner rnn_agent", {**REPLAY, **RNN}),
    Case("epymarl", "vdn", "q_learner rnn_agent", {**REPLAY, **RNN}),
    Case("epymarl", "qmix", "q_learner rnn_agent basic_controller", {**REPLAY, **RNN, "mac": "their_mac"}),
    Case("epymarl", "qmix_ns", f"q_learner {UNSHARED}", REPLAY),
    Case("epymarl", "qmix", "rnn_agent modules/mixers/qmix", {**OUR_Q, **RNN, "mixer": "their_qmix"}),
    Case("epymarl", "vdn", "rnn_agent modules/mixers/vdn", {**OUR_Q, **RNN, "mixer": "their_vdn"}),
    Case("epymarl", "coma", "coma_learner modules/critics/coma rnn_agent", RNN),
    Case("epymarl", "coma_ns", f"coma_learner coma_ns {UNSHARED}"),
    Case("epymarl", "ia2c", "actor_critic_learner ac rnn_agent", RNN),
    Case("epymarl", "ia2c_ns", f"actor_critic_learner ac_ns {UNSHARED}"),
    Case("epymarl", "maa2c", "actor_critic_learner centralV rnn_agent", RNN),
    Case("epymarl", "maa2c_ns", f"actor_critic_learner centralV_ns {UNSHARED}"),
    Case("epymarl", "ippo", "ppo_learner ac rnn_agent", RNN),
    Case("epymarl", "ippo_ns", f"ppo_learner ac_ns {UNSHARED}"),
    Case("epymarl", "mappo", "ppo_learner centralV rnn_agent", RNN),
    Case("epymarl", "mappo_ns", f"ppo_learner centralV_ns {UNSHARED}"),
    Case("epymarl", "maddpg", "maddpg_learner maddpg maddpg_controller rnn_agent", {**REPLAY, **RNN}),
    Case("epymarl", "maddpg_ns", f"maddpg_learner maddpg_ns maddpg_controller {UNSHARED}", REPLAY),
    Case(
        "epymarl",
        "pac_ns",
        f"actor_critic_pac_learner modules/critics/__init__ coma_ns centralV centralV_ns maddpg maddpg_ns ac ac_ns "
        f"modules/critics/coma pac_ac pac_ac_ns pac_dcg_ns {UNSHARED}",
        needs=("einops", "torch_scatter"),
    ),
    Case("epymarl", "qmix", f"gymma wrappers pz_wrapper {PRETRAINED}", {**OUR_Q, **GYMMA}, needs=("lbforaging",)),
    Case("pymarl2", "qmix", f"{NQ} {N_RNN}", REPLAY),
    Case("pymarl2", "qmix_large", f"{NQ} {N_RNN}", {**REPLAY, "q_lambda": True}),
    Case("pymarl2", "vdn", f"{NQ} {N_RNN}", REPLAY),
    Case("pymarl2", "qatten", f"{NQ} {N_RNN}", {**REPLAY, "agent_own_state_size": 5}),
    Case("pymarl2", "qmix_att", f"{NQ} n_controller atten_rnn_agent self_atten", REPLAY),
    Case("pymarl2", "qmix_conv", f"{NQ} conv_controller conv_agent", REPLAY),
    Case("pymarl2", "qmix", f"{NQ} n_controller noisy_agents noisy_liner", {**REPLAY, "agent": "noisy_rnn"}),
    Case("pymarl2", "qmix", f"{NQ} n_controller rnn_agent", {**REPLAY, **RNN}),
    Case("pymarl2", "qmix", f"{NQ} ff_agent", {**REPLAY, "agent": "their_ff", "mac": "basic_mac"}),
    Case("pymarl2", "qmix", "n_rnn_agent nmix", {**OUR_Q, "agent": "n_rnn", "mixer": "nmix"}),
    Case("pymarl2", "qatten", "qatten", {**OUR_Q, "agent_own_state_size": 5}),
    Case("pymarl2", "qmix", "modules/mixers/qmix", {**OUR_Q, "mixer": "their_qmix"}),
    Case("pymarl2", "qmix", "basic_controller n_rnn_agent", {**OUR_Q, "agent": "n_rnn", "mac": "their_mac"}),
    Case("pymarl2", "iql", "q_learner", REPLAY),
    Case("pymarl2", "qtran", "qtran_learner", REPLAY),
    Case(
        "pymarl2",
        "qplex",
        "dmaq_qatten_learner dmaq_general dmaq_si_weight",
        REPLAY,
        without_cuda="its learner calls .cuda() itself",
    ),
    Case("pymarl2", "ow_qmix", CENTRAL, REPLAY),
    Case("pymarl2", "cw_qmix", CENTRAL, REPLAY),
    # today's torch refuses the NaN that it makes of padding, hence its episodes are of one length
    Case("pymarl2", "coma", "coma_learner", {**REPLAY, "env": "two_step", "env_args": {}}),
    Case("pymarl2", "ippo", f"ppo_learner {N_RNN}", {"mac": "basic_mac"}),
    Case("pymarl2", "lica", f"lica_learner lica_controller lica {SELECTORS}", REPLAY),
    Case("pymarl2", "vmix", "policy_gradient_v2 ppo_controller rnn_ppo_agent"),
    Case("pymarl2", "riit", f"fmac_learner lica_controller fmac_critic lica self_atten {SELECTORS}", REPLAY),
    Case("pymarl2", "qmix", MATRIX, {**OUR_Q, **ONE_STEP}),
    Case("pymarl2", "vdn", f"{NQ} {N_RNN}", {**REPLAY, **ONE_STEP, "env": "matrix"}),
    Case("pymarl2", "qmix", f"{NQ} {N_RNN} {MATRIX}", {**REPLAY, **ONE_STEP}),
    Case(
        "pymarl2",
        "qmix_predator_prey",
        "envs/stag_hunt/__init__ stag_hunt",
        {**OUR_Q, **HUNT},
        env="stag_hunt",
        needs=("pygame",),
    ),
]

"""The mutants: for each, a mistake, its part, and the tests that should notice it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mutations import (
    always_updates_targets,
    always_zero,
    everything_is_legal,
    everything_is_valid,
    hidden_once,
    ignores,
    keeps_the_first_rollout,
    leaves_out,
    logs_copies,
    never_updates_targets,
    nothing_terminates,
    of_the_first_environment,
    returns_at_once,
    steps_nothing,
    tests_as_it_trains,
    the_first_rows,
    values_of_all_actions,
    what_was_filled_is_valid,
)

COMBINATIONS = "tests/integration/test_every_combination.py"
LOOP = "tests/integration/test_loop.py"
MIXERS = "tests/modules/test_mixers.py"
LEARNERS = "tests/learners"
TARGETS = "tests/utils/test_rl_utils.py"
RESUME = "tests/integration/test_exact_resume.py"
PLAY = "tests/runners"
SELECTORS = "tests/components/test_action_selectors.py"
BUFFERS = "tests/components/buffers"
ACTING = "tests/acting"
RECURRENT_CRITICS = ("tests/learners/test_recurrent_critic.py",)
PLANS = "tests/components/test_update_plan.py"
Q_LEARNER = (
    "tests/learners/test_q_learner.py",
    "tests/learners/test_q_updates.py",
    "tests/learners/test_q_standardisation.py",
)
COMA = (
    "tests/learners/test_coma_learner.py",
    "tests/learners/test_coma_updates.py",
    "tests/learners/test_epymarl_coma.py",
)


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Args:
        part: the replaced one, "module:Class.attribute" or "module:function".
        mutation: (original, *arguments) -> replacement.
        tests: files or folders to run, and options of pytest.
    """

    name: str
    part: str
    mutation: Callable
    tests: tuple[str, ...]
    arguments: tuple = ()


@dataclass(frozen=True)
class Edit:
    """One mistake that is made in the middle of a function: `old`, found once in the source, becomes `new`."""

    name: str
    old: str
    new: str
    tests: tuple[str, ...]


# learner -> its class, and keys that it may as well ignore, with the values that it would read instead
LEARNERS_AND_KEYS = {
    "q_learner": ("learners.q_learner:QLearner", {"gamma": 0.5, "td_lambda": 0.0, "double_q": False}),
    "qtran_learner": (
        "learners.qtran_learner:QLearner",
        {"gamma": 0.5, "double_q": False, "opt_loss": 0, "nopt_min_loss": 0},
    ),
    "coma_learner": ("learners.coma_learner:COMALearner", {"gamma": 0.5, "td_lambda": 0.0}),
    "pqn_learner": (
        "learners.pqn_learner:PQNLearner",
        {"gamma": 0.5, "td_lambda": 0.0, "epochs": 1, "minibatches": 1},
    ),
    "a2c_learner": ("learners.a2c_learner:A2CLearner", {}),
    "ppo_learner": (
        "learners.ppo_learner:PPOLearner",
        {"epochs": 1, "minibatches": 1, "value_clip": False, "target_kl": 0.0, "chunk_length": 0, "burn_in": 0},
    ),
}
ESTIMATOR = "learners.advantages:AdvantageEstimator.__init__"
OF_ESTIMATOR = {"gamma": 0.5, "gae_lambda": 1.0, "normalise_advantages": False}
ACTOR_CRITIC = ("tests/learners/test_actor_critic.py", "tests/learners/test_rollout_parts.py")
TESTS_OF = {
    "q_learner": Q_LEARNER,
    "coma_learner": COMA,
    "a2c_learner": ACTOR_CRITIC,
    "ppo_learner": ACTOR_CRITIC,
}
WITH_TARGETS = ("q_learner", "qtran_learner", "coma_learner")


def _of_learners():
    for learner, (place, keys) in LEARNERS_AND_KEYS.items():
        own = TESTS_OF.get(learner, (f"tests/learners/test_{learner}.py",))
        runs = (*own, COMBINATIONS, "-k", f"{' or '.join(Path(file).stem for file in own)} or two_step")
        yield Mutant(f"{learner}: train returns at once", f"{place}.train", returns_at_once, runs)
        if learner in WITH_TARGETS:
            yield Mutant(f"{learner}: the targets never change", f"{place}.train", never_updates_targets, own)
            yield Mutant(f"{learner}: the targets always follow", f"{place}.train", always_updates_targets, own)
        for key, value in keys.items():
            yield Mutant(f"{learner}: {key} is always {value}", f"{place}.__init__", ignores, own, (key, value))
    for key, value in OF_ESTIMATOR.items():
        yield Mutant(f"advantages: {key} is always {value}", ESTIMATOR, ignores, ACTOR_CRITIC, (key, value))


def _state(name, part, learner="q_learner"):
    """A part that resumes without its state."""
    return Mutant(f"resuming: {name} is left out", part, returns_at_once, (RESUME, "-k", f"{learner}-continuous"))


MUTANTS: tuple[Mutant | Edit, ...] = (
    *_of_learners(),
    Mutant("no optimiser steps", "learners.descent:Descent._step", steps_nothing, (LEARNERS,)),
    Mutant("mask: all ones", "utils.rl_utils:valid_transitions", everything_is_valid, (LEARNERS, TARGETS)),
    Mutant("mask: PyMARL's", "utils.rl_utils:valid_transitions", what_was_filled_is_valid, (LEARNERS, TARGETS)),
    Mutant("nothing terminates", "utils.rl_utils:terminations", nothing_terminates, (LEARNERS, TARGETS)),
    Mutant("illegal actions have values", "learners.q_targets:legal_values", values_of_all_actions, (LEARNERS,)),
    Edit("COMA: advantages are not detached", "- baseline).detach()", "- baseline)", (LEARNERS,)),
    Edit("QTRAN: the joint value follows L_nopt", "- joint_qs.detach() +", "- joint_qs +", (LEARNERS,)),
    Edit(
        "QTRAN: L_opt trains the joint value",
        "with th.no_grad():\n            max_joint_qs",
        "with th.enable_grad():\n            max_joint_qs",
        (LEARNERS,),
    ),
    Edit("QMIX: the first weights are signed", "th.abs(self.hyper_w_1(states))", "self.hyper_w_1(states)", (MIXERS,)),
    Edit(
        "QMIX: the last weights are signed",
        "th.abs(self.hyper_w_final(states))",
        "self.hyper_w_final(states)",
        (MIXERS,),
    ),
    Mutant(
        "buffer: the first rows", "components.buffers.replay_buffer:ReplayBuffer.sample", the_first_rows, (BUFFERS,)
    ),
    Mutant(
        "buffer: the first rollout stays",
        "components.buffers.replay_buffer:ReplayBuffer.insert_episode_batch",
        keeps_the_first_rollout,
        (BUFFERS,),
    ),
    Edit(
        "buffer: padding counts as transitions", "valid_transitions(batch).sum(1)", 'batch["filled"].sum(1)', (BUFFERS,)
    ),
    Edit(
        "rollout: the first one stays", "self._rollout = batch[", "self._rollout = self._rollout or batch[", (BUFFERS,)
    ),
    Edit(
        "journal: the first block only",
        "while first < stop:\n            row",
        "if first < stop:\n            row",
        (BUFFERS,),
    ),
    Edit(
        "updates: nothing is carried over",
        "self._owed += self._uses * added",
        "self._owed = self._uses * added",
        (PLANS,),
    ),
    Edit("updates: nothing is paid off", "self._owed -= updates * size", "self._owed -= 0", (PLANS,)),
    Mutant("epsilon is 0", "components.epsilon_schedules:DecayThenFlatSchedule.eval", always_zero, (SELECTORS, PLAY)),
    *(
        mutant
        for name, part in {
            "epsilon_greedy": "components.selectors.epsilon_greedy:EpsilonGreedyActionSelector",
            "multinomial": "components.selectors.sampling:MultinomialActionSelector",
            "soft_policies": "components.selectors.sampling:SoftPoliciesSelector",
        }.items()
        for mutant in (
            Mutant(f"{name}: all actions are legal", f"{part}.select_action", everything_is_legal, (SELECTORS,)),
            Mutant(f"{name}: tests explore", f"{part}.select_action", tests_as_it_trains, (SELECTORS,)),
        )
    ),
    Mutant("statistics are not reset", "runners.base:BaseRunner._log", logs_copies, (PLAY,)),
    Mutant(
        "hidden states outlive episodes",
        "controllers.basic_controller:BasicMAC.init_hidden",
        hidden_once,
        (PLAY, "tests/controllers"),
    ),
    Mutant(
        "environments share a seed",
        "vector_envs.instances:first_seed",
        of_the_first_environment,
        ("tests/vector_envs", PLAY),
    ),
    Mutant("acting: old weights", "acting.in_turn:InTurn._update_weights", returns_at_once, (ACTING,)),
    Mutant("acting: nothing is played ahead", "acting.ahead:Ahead.begin_next", returns_at_once, (ACTING,)),
    Edit(
        "acting: tests begin again", "while played < planned", "played = 0\n        while played < planned", (ACTING,)
    ),
    Edit(
        "rollouts: memory crosses a loss",
        "starts[:, 1:] |= filled[:, 1:] & ~filled[:, :-1]",
        "pass",
        ("tests/utils/test_rl_utils.py", "tests/runners/test_rollout_faults.py"),
    ),
    Edit(
        "recurrent critics: memory crosses episodes in a rollout",
        "hidden.masked_fill(starts[:, t].view(-1, 1, 1), 0.0)",
        "hidden",
        RECURRENT_CRITICS,
    ),
    Edit(
        "recurrent critics: memory crosses the end of a rollout",
        "memory[:, -2].masked_fill(fresh.view(-1, 1, 1), 0.0)",
        "memory[:, -2]",
        RECURRENT_CRITICS,
    ),
    Edit(
        "recurrent critics: memory of the closing state",
        "memory[:, -2].masked",
        "memory[:, -1].masked",
        RECURRENT_CRITICS,
    ),
    Mutant(
        "recurrent critics: no memory of the last rollout",
        "learners.recurrent_critic:CriticMemory.next_rollout",
        returns_at_once,
        RECURRENT_CRITICS,
    ),
    Mutant(
        "resuming: the critic's memory is left out",
        "learners.state_values:StateValues.load_state_dict",
        returns_at_once,
        ("tests/experiment/test_state.py", "-k", "mappo_smac"),
    ),
    Mutant("no part is restored", "experiment.state:RunState.restore", returns_at_once, ("tests/experiment",)),
    Mutant(
        "resuming: the learner is left out",
        "checkpoints.parts:load_state",
        leaves_out,
        (RESUME, "-k", "q_learner-continuous"),
        ("learner",),
    ),
    _state("the replay buffer", "components.buffers.episodes:EpisodeReplay.load_state_dict"),
    _state("the replay buffer's episodes", "components.buffers.episode_journal:EpisodeJournal.put"),
    Mutant(
        "the update plan is left out",
        "components.update_plan:UsesPerTransition.load_state_dict",
        returns_at_once,
        (PLANS,),
    ),
    _state("the runner", "runners.base:BaseRunner.load_state_dict"),
    _state("acting", "acting.in_turn:InTurn.load_state_dict"),
    _state("the loop", "experiment.state:LoopState.load_state_dict"),
    _state("the logger", "records.logger:Logger.load_state_dict"),
    _state("the random numbers of tests", "utils.numbers.random_streams:RandomStream.load_state_dict", "a2c_learner"),
    _state("the random generators", "utils.numbers.random_streams:set_global_generators"),
)

"""Keys that are EPyMARL's alone: what they stand for is set with them (`utils.config.epymarl_keys`)."""

from checks.parts import ChosenParts
from utils.config.epymarl_keys import PAGE, no_such_critic, ours_of
from utils.config.options import FREE, SHAPES, WIDTH, Option
from utils.config.reach import NOWHERE
from utils.errors import ConfigError

OPTIONS = {
    "hidden_dim": Option(
        None,
        "EPyMARL's: sets rnn_hidden_dim and critic_hidden_dim, of parts that read them",
        nullable=True,
        kind=int,
        at_least=1,
        at_most=WIDTH,
        resume=SHAPES,
    ),
    "critic_type": Option(
        None,
        "EPyMARL's: coma_critic, ac_critic, cv_critic, maddpg_critic, pac_critic and pac_dcg_critic set critic to "
        "coma, own, state, maddpg, pac and pac_dcg; with _ns, each agent has its own",
        nullable=True,
        kind=str,
        resume=SHAPES,
        reaches=NOWHERE,
    ),
    "state_value_type": Option(
        None,
        "EPyMARL's: the network of PAC's state value; cv_critic and ac_critic, with _ns or without, set value_critic "
        "to state and own",
        nullable=True,
        kind=str,
        resume=SHAPES,
        reaches=NOWHERE,
    ),
    "obs_individual_obs": Option(
        None,
        "EPyMARL's: sets critic_own_obs (COMA, MADDPG) and critic_all_obs (critics of state values)",
        nullable=True,
        kind=bool,
        resume=SHAPES,
    ),
    "render": Option(False, "EPyMARL's: only False; python src/watch.py RUN shows a run", resume=FREE),
    "hypergroup": Option(
        None, "EPyMARL's: any text, which nothing reads", nullable=True, kind=str, resume=FREE, reaches=NOWHERE
    ),
}


def check_epymarl_keys(parts: ChosenParts) -> None:
    """Refuse values of EPyMARL's keys that nothing stands for here.

    Raises:
        ConfigError: says what to do instead.
    """
    config = parts.config
    if config.get("render"):
        raise ConfigError(
            "render=True: a run opens no window. python src/watch.py RUN shows one of its models, and save_replay=True "
            f"records the last test ({PAGE})."
        )
    for key in ("critic_type", "state_value_type"):
        critic = config.get(key)
        if critic is not None and not parts.has_foreign and not ours_of(key, critic):
            raise ConfigError(no_such_critic(critic, key))

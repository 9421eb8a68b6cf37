"""Trains MineSweeper by enn-trainer with its defaults, for `entities.py`: run with the Python that has its packages.

PYTHONPATH=entity-gym:rogue-net:enn-trainer python enn_training.py cuda=false total_timesteps=100000
"""

import hyperstate
from enn_trainer import State, TrainConfig, init_train_state, train
from entity_gym.examples import ENV_REGISTRY


@hyperstate.stateful_command(TrainConfig, State, init_train_state)
def main(state_manager: hyperstate.StateManager) -> None:
    train(state_manager=state_manager, env=ENV_REGISTRY["MineSweeper"])


if __name__ == "__main__":
    main()

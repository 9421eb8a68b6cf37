"""Several environments in other processes, stepped together."""

from multiprocessing.connection import Connection
from typing import Any

from runners.playing import EpisodesRunner
from vector_envs.worker import CloudpickleWrapper

__all__ = ["CloudpickleWrapper", "ParallelRunner", "env_worker"]


class ParallelRunner(EpisodesRunner):
    """PyMARL's `parallel` runner: `batch_size_run` whole episodes a call; finished environments wait.

    An environment that fails is re-created, if `on_worker_fault` allows it, and another episode takes the place of its
    unfinished one.
    """

    lives = "workers"

    @property
    def env_info(self) -> dict[str, Any]:
        """PyMARL's name of what `get_env_info` returns."""
        return self.get_env_info()


def env_worker(remote: Connection, env_fn: CloudpickleWrapper) -> None:
    """PyMARL's worker, for runners of the family that start their own: one environment obeys commands from a pipe.

    Our runners' workers are `vector_envs.worker`, which carry arrays and survive faults.

    Args:
        remote: receives `(command, argument)`, and sends the answer to each but "close".
        env_fn: wraps the function that makes the environment.

    Raises:
        NotImplementedError: a command that PyMARL's worker does not know.
    """
    env = env_fn.x()

    def seen() -> dict[str, Any]:
        return {"state": env.get_state(), "avail_actions": env.get_avail_actions(), "obs": env.get_obs()}

    while True:
        command, argument = remote.recv()
        if command == "reset":
            env.reset()
            remote.send(seen())
        elif command == "step":
            reward, terminated, info = env.step(argument)
            remote.send({**seen(), "reward": reward, "terminated": terminated, "info": info})
        elif command in ("get_env_info", "get_stats"):
            remote.send(getattr(env, command)())
        elif command == "close":
            env.close()
            remote.close()
            return
        else:
            raise NotImplementedError(f"The worker of an environment does not know the command {command!r}.")

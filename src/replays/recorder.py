"""Recording a runner's episodes: a thin layer around its environment, and a listener for decisions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from replays.forms import problem_of_header
from replays.plain import plain
from replays.writer import ReplayWriter
from utils.errors import MusterError


class Recorder:
    """Records copy 0 of a batched environment while tests are played, one file an episode.

    A replay is an extra: failures end the recording, not the run. Where nothing could be recorded, `refusal` has the
    reason.

    Args:
        folder: where the files go, as `<t_env>_<k>.jsonl`.
        header: of every file.
        due: whether to record a test after that many steps.
        episodes: how many are recorded, at most.
        outputs: the kind of the controller's outputs, "q_values" or "policy".
        team_value: Q_tot of copy 0 from outputs `[n, A]`, actions `[n]` and state; None: unknown.
        warn: takes a message.
    """

    def __init__(
        self,
        folder: Path,
        header: dict[str, Any],
        due: Callable[[int], bool],
        episodes: int,
        outputs: str,
        team_value: Callable[[Any, Any, Any], float] | None,
        warn: Callable[[str], None],
    ):
        self.folder, self.header, self.due, self.episodes = folder, header, due, episodes
        self.outputs, self.team_value = outputs, team_value
        self.paths: list[Path] = []
        self.refusal = ""
        self._warn = warn
        self._stopped = False
        self._recording: _Recording | None = None

    def watch(self, env: Any, t_env: int) -> tuple[Any, Callable[[Any, Any, int], None] | None]:
        """The environment to play instead of `env`, and the listener for each decision with its batch and step.

        Without recording: `env` itself and None.
        """
        if self._stopped or len(self.paths) >= self.episodes or not self.due(t_env):
            return env, None
        recording = self._recording = _Recording(self, t_env)
        return _WatchedEnvironment(env, recording), recording.hear

    @property
    def is_recording(self) -> bool:
        """Whether an episode is being recorded."""
        return self._recording is not None and self._recording.on

    def stop(self, reason: str) -> None:
        """Stop recording; the records stay."""
        self._stopped = True
        if self.paths:
            self._warn(f"Recording of {self.paths[-1]} stopped: {reason}")
        else:
            self.refusal = reason


class _Recording:
    """One episode of copy 0."""

    def __init__(self, recorder: Recorder, t_env: int):
        self._recorder, self._t_env = recorder, t_env
        self._writer: ReplayWriter | None = None
        self._snapshot: dict = {}
        self._decision: dict[str, Any] = {}

    @property
    def on(self) -> bool:
        return self._writer is not None

    def guarded(self, act: Callable[..., None], *args: Any) -> None:
        """Do something for the recording; if it fails, stop recording."""
        try:
            act(*args)
        except MusterError:  # the environment itself has failed
            raise
        except NotImplementedError as error:
            self._stop(str(error))
        except Exception as error:
            self._stop(f"{type(error).__name__}: {error}")

    def _stop(self, reason: str) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._recorder.stop(reason)

    def begin(self, env: Any) -> None:
        if self._writer is not None:  # the environment was lost and restarts the episode
            self._writer.close()
            self._recorder.paths.pop().unlink()
        self._snapshot = env.snapshot()
        described = plain({"action_names": env.action_names(), "scene": env.scene()})
        if problem := problem_of_header(described):
            self._stop(f"no picture can be made of what the environment says of itself: {problem}")
            return
        header = {**self._recorder.header, **described, "t_env": self._t_env, "episode": len(self._recorder.paths)}
        self._writer = ReplayWriter(self._recorder.folder, f"{self._t_env}_{header['episode']}", header)
        self._recorder.paths.append(self._writer.path)

    def hear(self, decision: Any, batch: Any, t: int) -> None:
        """Keep the decision at step t, a `controllers.decisions.Decision`.

        Copy 0 acts as long as it is recorded, and is then the first of those that act.
        """
        if self.on:
            self.guarded(self._keep, decision, batch, t)

    def _keep(self, decision: Any, batch: Any, t: int) -> None:
        # of several teams, several branches, or continuous
        if list(decision.actions) != ["actions"] or "avail_actions" not in batch.scheme:
            self._decision = {"decisions": {path: chosen[0].tolist() for path, chosen in decision.actions.items()}}
            return
        actions, outputs = decision.actions["actions"], decision.extra(self._recorder.outputs)
        self._decision = {"actions": actions[0].tolist(), "avail_actions": batch["avail_actions"][0, t].tolist()}
        if "acts" in batch.scheme:
            self._decision["acts"] = batch["acts"][0, t].flatten().tolist()
        if outputs is None:
            return
        self._decision[self._recorder.outputs] = outputs[0].tolist()
        if self._recorder.team_value is not None:
            self._decision["q_tot"] = self._recorder.team_value(outputs[0], actions[0], batch["state"][0, t])

    def take(self, env: Any, reward: float, terminated: bool, truncated: bool) -> None:
        """Write the step that has just been made."""
        after, writer = env.snapshot(), self._writer
        assert writer is not None
        outcome: dict[str, Any] = {"terminated": terminated, "truncated": truncated, "info": env.info(0)}
        writer.step(self._snapshot, reward=reward, **self._decision, **outcome)
        self._snapshot = after
        if terminated or truncated:
            writer.end(after, **outcome)
            self._writer = None


class _WatchedEnvironment:
    """A batched environment whose copy 0 is recorded."""

    def __init__(self, env: Any, recording: _Recording):
        self._env, self._recording = env, recording

    def reset(self, which: Any = None) -> None:
        self._env.reset(which)
        if which is None or which[0]:
            self._recording.guarded(self._recording.begin, self._env)

    def step(self, actions: Any) -> Any:
        outcome = self._env.step(actions)
        # after a lost episode, the next reset restarts the recording
        if self._recording.on and not outcome.lost[0]:
            reward = sum(float(outcome.values[path][0].sum()) for path in self._env.spec.rewards())
            ends = bool(outcome.terminated[0]), bool(outcome.truncated[0])
            self._recording.guarded(self._recording.take, self._env, reward, *ends)
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

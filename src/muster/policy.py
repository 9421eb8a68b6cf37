"""A trained policy outside of its run: observations in, actions out, one environment or many."""

from pathlib import Path
from typing import Any

import numpy as np
import torch as th
from numpy.typing import ArrayLike

from checks.teams import of_team
from cli.recorded_runs import config_to_load, loaded_model
from components.step_writer import StepWriter
from controllers.contract import controller
from controllers.decisions import Decider
from controllers.hidden_states import reset_where
from controllers.policy_step import PolicyStep
from envs.contract.arguments import require_choice
from envs.contract.fields import EnvSpec, pymarl_spec
from experiment.onnx_export import SECOND, VERSIONS, require_onnx, require_same, write_models
from muster.errors import short
from muster.observations import Reader
from muster.process import process_left_alone
from records.find_run import LATEST, find_run
from replays.best_model import find_model
from utils.config.merging import default_config
from utils.errors import ConfigError
from utils.plain_values import quoted
from utils.tensors.devices import CPU, ON_CPU
from utils.tensors.tensor_trees import Tree

# nothing is played: one environment is asked for its fields
ASKED = {"batch_size_run": 1, "test_batch_size": 0, **ON_CPU}
ENDING = ".onnx"


@short
def load(
    run: str | Path = LATEST, results: str | Path | None = None, *, model: str = "best", **settings: Any
) -> "Policy":
    """The policy that a run has learned, on the CPU.

    Args:
        run: "latest", the name of a run, the number of its record, or the path of one of its folders.
        results: the folder of all results (default: "results").
        model: "best", the one that tested best, or "newest".
        settings: keys of the config, as `test_greedy=False`, and `env_args={...}`.

    Raises:
        ConfigError: there is no such run, or it has no model; or its record, which may come from others, names code
            that you have to name, too (`plugins=[...]`).
    """
    found = find_run(str(run), default_config()["local_results_path"] if results is None else results)
    saved, _ = find_model(found, model)
    config = config_to_load(found, saved.folder, saved.step, settings, ASKED)
    with process_left_alone(), loaded_model(config, found.token, CPU) as loaded:
        return Policy(loaded, found.token, config)


class Policy:
    """A trained policy.

    Args:
        loaded: the parts of the run that play.
        name: of the run.
        config: of the run.

    Attributes:
        name, config: as above.
        step: after so many environment steps the model was saved.
        spec: the fields of the environment, by name, with their shapes.
        n_agents: of all groups together.
    """

    def __init__(self, loaded: Any, name: str, config: dict[str, Any]):
        self.name, self.config, self.step = name, config, int(loaded.step)
        runner = loaded.runner
        self.spec: EnvSpec = runner.spec if runner.spec is not None else pymarl_spec(runner.get_env_info())
        self.n_agents = sum(self.spec.groups.values())
        self._mac, self._teams, self._new_batch = loaded.mac, loaded.teams, runner.new_batch
        self._reader = Reader(self.spec)
        self._copies = 0  # before the first observation
        self._hidden: Tree = None

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, {self.n_agents} agents, after {self.step:,} steps)"

    def reset(self, which: ArrayLike | None = None) -> None:
        """Forget: an episode begins.

        Args:
            which: of B environments those whose episode begins, bool `[B]`; None: all, and the next observations may
                be of another number of environments.
        """
        if which is None:
            self._copies = 0
            return
        chosen = np.asarray(which, dtype=bool).reshape(-1)
        if not self._copies:
            return
        if len(chosen) != self._copies:
            raise ConfigError(f"reset: {len(chosen)} entries for {self._copies} environments.")
        if not chosen.any():
            return
        self._store.clear(np.flatnonzero(chosen), 0)
        hidden = self._hidden
        if hidden is not None:
            self._mac.init_hidden(self._copies)
            self._hidden = reset_where(th.from_numpy(chosen), hidden, self._mac.hidden_states)

    @short
    def act(self, obs: Any, legal: Any = None, *, greedy: bool = True) -> Any:
        """The actions of all agents at this step; the memory is kept for the next.

        Shapes: n agents, B environments; of a policy of one agent the axis n is left out.

        Args:
            obs: observations of one environment, float32 `[n, *shape]`, or of B, `[B, n, *shape]`; of an environment
                with several fields a mapping from their names (`policy.spec.fields`) to such arrays; or what a
                PettingZoo environment returns, a mapping from agents to observations, perhaps with "action_mask".
            legal: which actions are legal, 1 or 0, `[n, A]` or `[B, n, A]`; of several choices a mapping from the names
                of the actions or of their masks; None: all.
            greedy: as in tests; False: as in training after `step` steps, exploration included.

        Returns:
            int64 `[n]` or `[B, n]`; of continuous actions float32 `[n, k]` or `[B, n, k]`; of several a mapping from
            their names; of observations by agent a mapping from agents.

        Raises:
            ConfigError: a field is missing or has another shape; the message says which shape it must have.
        """
        values, form = self._reader.read(obs, legal, self._copies)
        if form.copies != self._copies:
            self._begin(form.copies)
        self._store.write(values, self._everyone, 1)
        mac = controller(self._mac)
        mac.hidden_states = self._hidden
        with th.no_grad():
            decided = self._decider.decide(1, self.step, test_mode=greedy)
        self._hidden = mac.hidden_states
        self._store.write(decided, self._everyone, 0)
        return form.actions(self.spec.actions_of(decided))

    __call__ = act

    @short
    def export(self, path: str | Path, *, version: int = SECOND, greedy: bool = False) -> list[Path]:
        """Write the policy as an ONNX file, with the names of Unity's ML-Agents (docs/dots.md).

        The file is loaded in onnxruntime first, which has to decide as this policy does.

        Args:
            path: ends in .onnx; with several teams, each has `-<team>` before that.
            version: of ML-Agents' models, 2 or 3.
            greedy: drawn actions are the best ones.

        Returns:
            the files.

        Raises:
            ConfigError: networks of this kind cannot be exported, or onnx or onnxruntime are missing.
        """
        require_choice("version", version, VERSIONS)
        target = Path(path)
        if target.suffix != ENDING:
            raise ConfigError(f"export: {quoted(str(path), 300)} must end in {ENDING}.")
        require_onnx()
        steps = {}
        for team in self._teams:
            with of_team(team.name):
                steps[team.name] = PolicyStep(team.mac, team.spec.fields, greedy)
                require_same(steps[team.name], version)
        return write_models(steps, target, version)

    def _begin(self, copies: int) -> None:
        self._copies, self._everyone = copies, np.arange(copies)
        batch = self._new_batch(batch_size=copies, max_seq_length=2)
        self._store, self._decider = StepWriter(batch), Decider(self._mac, batch)
        self._mac.init_hidden(copies)
        self._hidden = controller(self._mac).hidden_states

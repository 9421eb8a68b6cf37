"""Trained policies as ONNX files with the names that Unity's ML-Agents looks for (docs/dots.md).

Source: the inputs and outputs of `ModelSerializer` and `SimpleActor` in ML-Agents' trainer, the loaders of its package
for Unity, and the files in the samples of ML-Agents DOTS.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from controllers.policy_step import PolicyStep
from utils.errors import ConfigError, MusterError
from utils.files.whole_files import write_whole
from utils.plain_values import quoted

INSTALL = "pip install -r requirements-onnx.txt"
# the newest operations that Barracuda reads, and the format of the files that ML-Agents writes
OPSET, FORMAT = 9, 6
# versions of models: of ML-Agents 1 (and DOTS with protocol 0), and of ML-Agents 2 and newer (and the last DOTS)
FIRST, SECOND = 2, 3
VERSIONS = (FIRST, SECOND)
MASKS = "action_masks"


def require_onnx() -> Any:
    """The package onnx.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--export needs the package '{error.name}', which is not installed. Install it with: {INSTALL}"
        ) from None
    return onnx


def exported(step: PolicyStep, version: int = SECOND) -> bytes:
    """A policy as an ONNX file.

    Args:
        version: of the model, one of `VERSIONS`, which decides the names.

    Raises:
        ConfigError: the policy is none that this version can hold.
    """
    onnx = require_onnx()
    model = (_Second if version == SECOND else _First)(step).eval()
    inputs = [th.zeros(2, *shape) for shape in model.inputs.values()]
    file = io.BytesIO()
    with th.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter for early operations, that there is a newer one
        shapes = [x.shape[1:] for x in model(*inputs)]  # normalisers compute their scale at the first call
        th.onnx.export(
            model,
            tuple(inputs),
            file,  # type: ignore[arg-type] # torch's annotation knows paths only
            opset_version=OPSET,
            dynamo=False,
            input_names=list(model.inputs),
            output_names=model.outputs,
            dynamic_axes={name: {0: "batch"} for name in (*model.inputs, *model.outputs)},
        )
    return _completed(onnx, file.getvalue(), model, shapes)


def require_same(step: PolicyStep, version: int = SECOND, tries: int = 8) -> None:
    """Have onnxruntime decide by the exported policy, on random observations, and compare.

    Args:
        version: as of `exported`.
        tries: agents of one call.

    Raises:
        ConfigError: onnxruntime is not installed, or the policy cannot be exported.
        MusterError: it decides otherwise.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"A policy is compared with its file in the package '{error.name}', which is not installed. Install it "
            f"with: {INSTALL}"
        ) from None
    session = onnxruntime.InferenceSession(exported(step, version), providers=["CPUExecutionProvider"])
    model = (_Second if version == SECOND else _First)(step).eval()
    rng = np.random.default_rng(0)
    given = {name: rng.normal(size=(tries, *shape)).astype(np.float32) for name, shape in model.inputs.items()}
    if MASKS in given:
        given[MASKS] = np.ones_like(given[MASKS])
    with th.no_grad():
        ours = model(*map(th.from_numpy, given.values()))
    compared = [name for name in model.outputs if step.greedy or name.startswith(("deterministic", "recurrent"))]
    theirs = dict(zip(compared, session.run(compared, given), strict=True)) if compared else {}
    for name, value in zip(model.outputs, ours, strict=True):
        if name in theirs and not np.allclose(value.numpy(), theirs[name], rtol=1e-3, atol=1e-4):
            raise MusterError(f"onnxruntime computes another '{name}' than the policy: nothing was written.")


def write_models(steps: dict[str, PolicyStep], path: Path, version: int) -> list[Path]:
    """Write the file of each team's policy, whole, and return their paths.

    Args:
        steps: by the team's name; "" is the only one's.
        path: of the file of an only team; others have `-<team>` before the ending.

    Raises:
        ConfigError: a policy cannot be exported; nothing was written.
        MusterError: a file cannot be written.
    """
    files = {
        path.with_name(f"{path.stem}-{team}{path.suffix}") if len(steps) > 1 else path: exported(step, version)
        for team, step in steps.items()
    }
    for place, content in files.items():
        try:
            write_whole(str(place), content)
        except OSError as error:
            raise MusterError(f"{quoted(str(place), 300)} cannot be written: {error.strerror}.") from None
    return list(files)


class _Model(nn.Module):
    """A policy by names of ML-Agents.

    Attributes:
        inputs: name -> shape for one agent.
        outputs: names of what `forward` returns.
        constants: what is said of the model, outputs as well.
    """

    inputs: dict[str, tuple[int, ...]]
    outputs: list[str]
    constants: dict[str, np.ndarray]

    def __init__(self, step: PolicyStep):
        super().__init__()
        self.step = step

    def _by_name(self, tensors: Sequence[th.Tensor]) -> dict[str, th.Tensor]:
        return dict(zip(self.inputs, tensors, strict=True))

    def _numbers_and_masks(self, sizes: list[int]) -> dict[str, tuple[int, ...]]:
        return {MASKS: (sum(sizes),)} if sizes else {}


class _Second(_Model):
    """Of ML-Agents 2 and newer: an input for each observation, and actions of both kinds.

    The agent's one-hot number, if the network sees it, is one more observation, the last.
    """

    def __init__(self, step: PolicyStep):
        super().__init__(step)
        shapes = [_channels_first(shape) for shape in step.shapes.values()]
        shapes += [(step.n_agents,)] * step.sees_id
        self._observations = [f"obs_{i}" for i in range(len(shapes))]
        self.inputs = dict(zip(self._observations, shapes, strict=True)) | self._numbers_and_masks(step.branches)
        self.inputs |= {"recurrent_in": (1, step.memory)} if step.memory else {}
        self.constants = {"version_number": _floats(SECOND), "memory_size": _floats(step.memory)}
        self.outputs = []
        if step.numbers:
            self.outputs += ["continuous_actions", "deterministic_continuous_actions"]
            self.constants["continuous_action_output_shape"] = _floats(step.numbers)
        if step.branches:
            self.outputs += ["discrete_actions", "deterministic_discrete_actions"]
            self.constants["discrete_action_output_shape"] = _floats(*step.branches)[None]
        self.outputs += ["recurrent_out"] * bool(step.memory)

    def forward(self, *tensors: th.Tensor) -> list[th.Tensor]:
        given, step = self._by_name(tensors), self.step
        seen = [_channels_last(given[name]) for name in self._observations]
        agent = seen.pop() if step.sees_id else None
        memory = given["recurrent_in"].flatten(1) if step.memory else None
        found = step(seen, agent, given.get(MASKS), memory)
        outputs = [found.numbers, found.greedy_numbers] if step.numbers else []
        if step.branches:
            outputs += [th.cat(found.choices, dim=1), th.cat(found.greedy_choices, dim=1)]
        return [*outputs, found.memory.unsqueeze(1)] if step.memory else outputs


class _First(_Model):
    """Of ML-Agents 1 and DOTS with protocol 0: all vectors in one input, and one output of actions.

    Of choices these are log-probabilities, from which Unity draws; continuous actions are drawn by the normal numbers
    that Unity puts in.
    """

    def __init__(self, step: PolicyStep):
        super().__init__(step)
        reasons = {
            "a memory": step.memory,
            "observations that are no vectors": any(len(shape) > 1 for shape in step.shapes.values()),
            "the agent's number among its inputs": step.sees_id,
            "choices and continuous actions at once": step.branches and step.numbers,
        }
        if found := [what for what, there in reasons.items() if there]:
            raise ConfigError(
                f"--model-version={FIRST} has no place for {found[0]}. Use --model-version={SECOND}, for ML-Agents 2 "
                "and newer."
            )
        self._sizes = [shape[0] for shape in step.shapes.values()]
        self.inputs = {"vector_observation": (sum(self._sizes),)} | self._numbers_and_masks(step.branches)
        self.inputs |= {"epsilon": (step.numbers,)} if step.numbers else {}
        self.outputs = ["action"]
        self.constants = {
            "version_number": _floats(FIRST),
            "memory_size": _floats(0),
            "is_continuous_control": _floats(step.numbers > 0),
            "action_output_shape": _floats(step.numbers + sum(step.branches)),
        }

    def forward(self, *tensors: th.Tensor) -> list[th.Tensor]:
        given = self._by_name(tensors)
        seen = list(given["vector_observation"].split(self._sizes, dim=1))
        found = self.step(seen, None, given.get(MASKS), None, given.get("epsilon"))
        return [found.numbers if self.step.numbers else found.log_probs]


def _completed(onnx: Any, content: bytes, model: _Model, shapes: list[tuple[int, ...]]) -> bytes:
    """The exporter's file with the constants, which are weights and outputs at once, as ML-Agents' own files have them.

    An input that nothing depends on stays one: Unity sets it.
    """
    loaded = onnx.load_model_from_string(content)
    graph, found = loaded.graph, list(loaded.graph.output)
    loaded.ir_version = FORMAT
    del graph.output[:]
    for name, value in model.constants.items():
        graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape))
    for output, shape in zip(found, shapes, strict=True):
        kind = output.type.tensor_type.elem_type
        graph.output.append(onnx.helper.make_tensor_value_info(output.name, kind, ["batch", *shape]))
    for name in model.inputs.keys() - {given.name for given in graph.input}:
        taken = ["batch", *model.inputs[name]]
        graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, taken))
    onnx.checker.check_model(loaded)
    return loaded.SerializeToString()


def _floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def _channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a picture, `[H, W, C]`, as ONNX has it."""
    return (shape[2], shape[0], shape[1]) if len(shape) == 3 else shape


def _channels_last(x: th.Tensor) -> th.Tensor:
    return x.permute(0, 2, 3, 1) if x.dim() == 4 else x

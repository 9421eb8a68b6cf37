"""Runs rogue-net on `rogue_net_cases.CASES` and writes its figures as JSON; in a process that can import it.

Arguments: the seed and the file. The path has rogue-net, entity-gym, ragged-buffer and torch-scatter.
"""

import json
import sys

import numpy as np
import torch as th
from entity_gym.env import (
    CategoricalActionSpace,
    Entity,
    GlobalCategoricalActionSpace,
    ObsSpace,
    SelectEntityActionSpace,
    VecCategoricalActionMask,
    VecSelectEntityActionMask,
)
from entity_gym.simple_trace import Tracer
from ragged_buffer import RaggedBufferBool, RaggedBufferF32, RaggedBufferI64
from rogue_net.input_norm import InputNorm
from rogue_net.relpos_encoding import RelposEncodingConfig
from rogue_net.rogue_net import RogueNet, RogueNetConfig
from rogue_net.translate_positions import TranslationConfig

from rogue_net_cases import CASES, frames, names_digest, norm_rows, weights

STATISTICS = ("count", "mean", "squares_sum")
SPACES = {
    "categorical": lambda choices: CategoricalActionSpace([str(i) for i in range(choices)]),
    "global": lambda choices: GlobalCategoricalActionSpace([str(i) for i in range(choices)]),
    "select": lambda _: SelectEntityActionSpace(),
}


def ragged(kind, sequences, dtype, features):
    """A ragged buffer of sequences `[items, features]`."""
    flat = [np.asarray(items, dtype).reshape(len(items), features) for items in sequences]
    return kind.from_flattened(np.concatenate(flat), np.array([len(items) for items in flat], np.int64))


def network(case):
    config = dict(case.net)
    if "relpos_encoding" in config:
        config["relpos_encoding"] = RelposEncodingConfig(**config["relpos_encoding"])
    if "translation" in config:
        config["translation"] = TranslationConfig(**config["translation"])
    space = ObsSpace(
        global_features=list(case.global_features), entities={name: Entity(f) for name, f in case.space.items()}
    )
    actions = {name: SPACES[kind](choices) for name, (kind, choices) in case.actions.items()}
    return RogueNet(RogueNetConfig(**config), space, actions, {"value": 1}).train()


def inputs(case, all_frames):
    entities = {
        name: ragged(RaggedBufferF32, [frame["features"][name] for frame in all_frames], np.float32, len(features))
        for name, features in case.space.items()
    }
    if case.global_features or any(kind == "global" for kind, _ in case.actions.values()):
        entities["__global__"] = (
            ragged(
                RaggedBufferF32, [frame["global"][None] for frame in all_frames], np.float32, len(case.global_features)
            )
            if case.global_features
            else RaggedBufferF32.from_array(np.zeros((len(all_frames), 1, 0), np.float32))
        )
    visible = {}
    if case.visible:
        visible = {
            name: ragged(RaggedBufferBool, [frame["visible"][name] for frame in all_frames], bool, 1)
            for name in case.space
        }
    masks = {}
    for name, (kind, choices) in case.actions.items():
        of_frames = [frame["actions"][name] for frame in all_frames]
        actors = ragged(RaggedBufferI64, [action["actors"] for action in of_frames], np.int64, 1)
        if kind == "select":
            actees = ragged(RaggedBufferI64, [action["actees"] for action in of_frames], np.int64, 1)
            masks[name] = VecSelectEntityActionMask(actors, actees)
        else:
            mask = ragged(RaggedBufferBool, [action["mask"] for action in of_frames], bool, choices)
            masks[name] = VecCategoricalActionMask(actors, mask)
    return entities, visible, masks


def figures(case, seed):
    net = network(case)
    own = shapes(net)
    state = {name: th.as_tensor(value) for name, value in weights(own, seed).items()}
    net.load_state_dict(net.state_dict() | state)
    all_frames = frames(case, seed)
    _, _, entropy, _, outputs, logits = net.get_action_and_auxiliary(*inputs(case, all_frames), Tracer())
    total = sum(values.sum() for values in entropy.values()) + outputs["value"].square().sum()
    total.backward()
    gradients = {n: p.grad.abs().sum().item() for n, p in net.named_parameters() if p.grad is not None}
    return {
        "names": names_digest(own),
        "log_probs": {name: chosen(case, all_frames, name, values) for name, values in logits.items()},
        "entropy": {name: values.flatten().tolist() for name, values in entropy.items()},
        "value": outputs["value"].flatten().tolist(),
        "gradients": [gradients[name] for name in sorted(gradients)],
        "moved": [net.state_dict()[name].flatten().tolist() for name in sorted(own) if name.endswith(STATISTICS)],
    }


def chosen(case, all_frames, name, logits):
    """Log-probabilities of what each actor may choose, actor after actor."""
    of_frames = [frame["actions"][name] for frame in all_frames]
    if case.actions[name][0] != "select":
        return logits[th.as_tensor(np.concatenate([action["mask"] for action in of_frames]))].tolist()
    return [
        x
        for row, action in zip(logits, of_frames, strict=True)
        for actor in row[: len(action["actors"])]
        for x in actor[: len(action["actees"])].tolist()
    ]


def shapes(net):
    """Of what the network reads: not of what it derives, nor of a table that it never reads."""
    unread = ("strides", "extent_tensor", "distance_values.weight")
    return {
        name: list(value.shape)
        for name, value in net.state_dict().items()
        if not name.endswith(unread) and ".attn.relpos_encoding." not in name
    }


def normalised(seed):
    norm = InputNorm(3)
    outputs = [norm(th.as_tensor(rows)).tolist() for rows in norm_rows(seed)]
    moments = {"mean": norm.mean.tolist(), "sum": norm.squares_sum.tolist()}
    return {"outputs": outputs, "count": norm.count.item(), **moments}


def rounded(figures):
    if isinstance(figures, float):
        return float(f"{figures:.7g}")
    if isinstance(figures, dict):
        return {key: rounded(value) for key, value in figures.items()}
    return [rounded(value) for value in figures] if isinstance(figures, list) else figures


if __name__ == "__main__":
    th.manual_seed(0)
    seed = int(sys.argv[1])
    result = {case.name: figures(case, seed) for case in CASES}
    with open(sys.argv[2], "w") as file:
        json.dump(rounded({"seed": seed, "cases": result, "input norm": normalised(seed)}), file)

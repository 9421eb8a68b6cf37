"""What PyMARL3's networks see in generated batches, and their weights by its names."""

import torch as th

from utils.meanings import ALLY, ENEMY, OWN, SURROUNDINGS, Action, Columns, Meaning

ROWS, FEATURES = {ENEMY: 4, ALLY: 2}, {ENEMY: 6, ALLY: 5}
MOVES, ITSELF, UNTARGETED = 4, 2, 6
N_AGENTS, N_ACTIONS = ROWS[ALLY] + 1, UNTARGETED + ROWS[ENEMY]
SEEN = MOVES + sum(ROWS[kind] * FEATURES[kind] for kind in ROWS) + ITSELF
SIZES = {"n_agents": N_AGENTS, "n_actions": N_ACTIONS, "state_shape": 6, "obs_shape": SEEN, "episode_limit": 7}
# what its environments tell it; the file is what its ASN looks up by the map's name
THEIR_SIZES = SIZES | {
    "n_enemies": ROWS[ENEMY],
    "n_allies": ROWS[ALLY],
    "output_normal_actions": UNTARGETED,
    "obs_component": [MOVES, *((ROWS[kind], FEATURES[kind]) for kind in (ENEMY, ALLY)), ITSELF],
    "map_type": "marines",
    "env_args": {"map_name": "made"},
}
MAPS = {
    "made_obs": {
        "model_input_size": SEEN + N_ACTIONS + N_AGENTS,
        "model_input_compose": {"0": {"size": MOVES}, "1": {"size": [ROWS[ENEMY], FEATURES[ENEMY]]}},
    }
}


def meaning() -> Meaning:
    """As PyMARL3 splits SMAC's vector: what is around, enemies, allies, the agent itself."""
    columns = Columns()
    columns.add(SURROUNDINGS, (f"move_{i}" for i in range(MOVES)))
    for kind in (ENEMY, ALLY):
        columns.add(kind, (f"{kind}_{i}" for i in range(FEATURES[kind])), ROWS[kind])
    columns.add(OWN, (f"own_{i}" for i in range(ITSELF)))
    attacks = (Action(f"attack {e}", (ENEMY, e)) for e in range(ROWS[ENEMY]))
    return Meaning(tuple(columns.groups), (*(Action(f"move {i}") for i in range(UNTARGETED)), *attacks))


def in_their_names(weights: dict[str, th.Tensor], config: dict) -> dict[str, th.Tensor]:
    """The weights of an agent as PyMARL3's `agent.th` has them."""
    weights = dict(weights)
    of_agents = {"hpn_rnn": _hpn, "updet": _updet, "deepset_rnn": _deepset, "gnn_rnn": _gnn, "asn_rnn": _asn}
    return of_agents[config["agent"]](weights, config) if config["agent"] in of_agents else weights


def _embeddings(weights: dict, config: dict) -> None:
    layer = weights["fc1_own.weight"]
    sizes = {"action": N_ACTIONS * config["obs_last_action"], "agent": N_AGENTS * config["obs_agent_id"]}
    own, *of_numbers = layer.split([layer.size(1) - sum(sizes.values()), *sizes.values()], 1)
    weights["fc1_own.weight"] = own
    for (name, size), rows in zip(sizes.items(), of_numbers, strict=True):
        if size:
            weights[f"{name}_id_embedding.weight"] = rows.t()


def _hpn(weights: dict, config: dict) -> dict:
    _embeddings(weights, config)
    names = {"fc2": "fc2_normal_actions"}
    names |= {"input_heads": "unify_input_heads", "output_heads_enemy": "unify_output_heads"}
    found = {}
    for key, weight in weights.items():
        module, _, rest = key.rpartition(".")
        found[f"{names.get(module, module)}.{rest}"] = weight.t().unsqueeze(0) if "heads" in module else weight
    return found


def _renamed(weights: dict, names: dict) -> dict:
    found = {}
    for key, weight in weights.items():
        start = next((start for start in names if key.startswith(start)), "")
        found[f"{names.get(start, '')}{key.removeprefix(start)}"] = weight
    return found


def _deepset(weights: dict, config: dict) -> dict:
    _embeddings(weights, config)
    if not config["target_weights"]:
        return weights
    return _renamed(weights, {"fc2.": "fc2_normal_actions.", "hyper_enemy.": "hyper_fc2_w_and_b_attack_actions."})


def _gnn(weights: dict, config: dict) -> dict:
    _embeddings(weights, config)
    names = {}
    for layer in range(config["gnn_layer_num"]):
        for ours, theirs in (("itself", "self"), ("neighbour", "neighbor")):
            names[f"layers.{layer}.{ours}."] = f"gnn.gnn_layers.{layer}.lin_layer_{theirs}."
    nodes = N_AGENTS + ROWS[ENEMY]
    return _renamed(weights, names) | {"gnn.adj": th.ones(nodes, nodes) - th.eye(nodes)}


def _asn(weights: dict, config: dict) -> dict:
    names = {f"{ours}_enemy.": f"enemies_info_{theirs}." for ours, theirs in ASN_LAYERS}
    names |= {f"{ours}.": f"env_info_{theirs}." for ours, theirs in ASN_LAYERS}
    return _renamed(weights, names | {"fc3.": "wo_action_fc."})


ASN_LAYERS = ("fc1", "fc1"), ("fc2", "fc2"), ("rnn", "rnn3")


def _updet(weights: dict, config: dict) -> dict:
    found = {}
    for key, weight in weights.items():
        if key.endswith("queries_keys_values.weight"):
            block = key.split(".")[1]
            for name, part in zip(("queries", "keys", "values"), weight.chunk(3), strict=True):
                found[f"transformer.tblocks.{block}.attention.to{name}.weight"] = part
            continue
        for ours, theirs in (("unify", "attention.unifyheads"), ("ff1", "ff.0"), ("ff2", "ff.2")):
            key = key.replace(f".{ours}.", f".{theirs}.")
        for ours, theirs in (("last", "toprobs"), ("token_embedding", "token_embedding"), ("blocks", "tblocks")):
            key = key.replace(f"{ours}.", f"transformer.{theirs}.") if key.startswith(ours) else key
        found[key] = weight
    return found

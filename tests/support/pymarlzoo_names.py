"""The weights of transformers over agents by the names that they have in PyMARLzoo+, and in its order of inputs."""

import re

import torch as th

# presets whose agent is one
TEAMS = ("pymarlzoo_mat_dec", "pymarlzoo_commformer")
NAMES = [
    (r"^obs_encoder\.", "critic.encoder.obs_encoder."),
    (r"^encoder_norm\.", "critic.encoder.ln."),
    (r"^value_head\.", "critic.encoder.head."),
    (r"^encoder\.", "critic.encoder.blocks."),
    (r"^decoder\.", "decoder.mlp."),
    (r"^edges$", "critic.edges"),
    (r"^edge_features\.", "critic.edges_embed."),
    (r"^heads\.", "decoder.mlp."),
    (r"^own_encoder\.", "decoder.obs_encoder."),
    (r"^decoder_norm\.", "decoder.ln."),
    (r"^(action_encoder|blocks)\.", r"decoder.\1."),
    (r"\.attention(\d)\.", r".attn\1."),
    (r"\.in_proj\.", ".in_proj_"),
    (r"\.attention\.", ".attn."),
    (r"\.norm(\d)\.", r".ln\1."),
]


def in_their_names(weights: dict[str, th.Tensor], sizes: dict[str, int]) -> dict[str, th.Tensor]:
    """Of an agent: `critic` is a part of it."""
    found = {}
    for name, x in weights.items():
        for pattern, other in NAMES:
            name = re.sub(pattern, other, name)
        found[name] = x
    if any("in_proj" in name for name in found):
        return {_of_graph(name): x for name, x in found.items()}
    n, actions = sizes["n_agents"], sizes["n_actions"]
    for name in ("0.weight", "0.bias", "1.weight"):
        key = f"critic.encoder.obs_encoder.{name}"
        observed, ids, done = found[key].split([sizes["obs_shape"], n, n * actions], dim=-1)
        found[key] = th.cat([observed, done, ids], dim=-1)
    return found


def _of_graph(name: str) -> str:
    """In CommFormer's encoder."""
    if not name.startswith("critic.encoder.blocks."):
        return name
    for ours, theirs in ((".attn.", ".self_attn."), (".ln1.", ".attn_layer_norm."), (".ln2.", ".ff_layer_norm.")):
        name = name.replace(ours, theirs)
    return name

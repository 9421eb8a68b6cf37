"""Options of the network over entities, under rogue-net's names, and their checks."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from utils.config.options import SHAPES, WIDTH, Option
from utils.config.reach import NOWHERE
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

POOLINGS = ("mean", "max", "meanmax")
GATES = ("linear", "relu", "gelu", "sigmoid")
# The most buckets that a table of relative positions may have
BUCKETS = 2**20

NET = {
    "embd_pdrop": Option(0.0, "dropout of the entities' embeddings", at_least=0, at_most=1),
    "resid_pdrop": Option(0.0, "dropout of what each layer adds", at_least=0, at_most=1),
    "attn_pdrop": Option(0.0, "dropout of attention weights", at_least=0, at_most=1),
    "n_layer": Option(2, "layers of the transformer", at_least=0, at_most=1024, resume=SHAPES),
    "n_head": Option(2, "attention heads, which divide d_model", at_least=1, at_most=WIDTH, resume=SHAPES),
    "d_model": Option(
        32, "numbers that describe an entity within the network", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "pooling": Option(
        None,
        "mean, max or meanmax over a frame's entities in place of attention; null: attention",
        nullable=True,
        kind=str,
        choices=POOLINGS,
        resume=SHAPES,
    ),
    "relpos_encoding": Option(
        None,
        "settings of relative positions in attention; null: none",
        nullable=True,
        kind=dict,
        resume=SHAPES,
        reaches=NOWHERE,
    ),
    "d_qk": Option(16, "width of queries and keys that select entities", at_least=1, at_most=WIDTH, resume=SHAPES),
    "translation": Option(
        None,
        "settings that centre positions on one entity; null: none",
        nullable=True,
        kind=dict,
        resume=SHAPES,
        reaches=NOWHERE,
    ),
}
TRANSLATION = {
    "reference_entity": Option("", "entity type, one of each frame, that becomes the origin"),
    "position_features": Option([], "names of the features that are coordinates"),
    "rotation_vec_features": Option(
        None, "two features of the reference entity, a unit vector that becomes the x axis", nullable=True, kind=list
    ),
    "rotation_angle_feature": Option(None, "the same as an angle in radians, one feature", nullable=True, kind=str),
    "add_dist_feature": Option(False, "the distance from the reference entity as one more feature", resume=SHAPES),
}
RELATIVE_POSITIONS = {
    "extent": Option([], "grid: cells on each side, by coordinate; angles and distances: number of buckets of each"),
    "position_features": Option([], "names of the features that are coordinates"),
    "scale": Option(1.0, "size of a grid cell, or of a distance bucket", above=0, kind=float),
    "per_entity_values": Option(False, "values of their own for each type of attended entity"),
    "exclude_entities": Option([], "entity types without relative positions"),
    "value_relpos_projection": Option(False, "adds a linear function of relative position and distance to values"),
    "key_relpos_projection": Option(False, "adds a linear function of relative position and distance to keys"),
    "per_entity_projections": Option(False, "such functions of their own for each type of attended entity"),
    "radial": Option(False, "buckets of angles; with distance: of both"),
    "distance": Option(False, "buckets of distances; with radial: of both"),
    "rotation_vec_features": Option(
        None, "two features, a unit vector: angles are measured from an entity's own", nullable=True, kind=list
    ),
    "rotation_angle_feature": Option(None, "the same as an angle in radians, one feature", nullable=True, kind=str),
    "interpolate": Option(False, "mixes the embeddings of neighbouring buckets of angles and distances"),
    "value_gate": Option(
        "relu",
        "multiplies relative values by a function of the attended entity: linear, relu, gelu, sigmoid; null: none",
        nullable=True,
        choices=GATES,
    ),
    "enable_negative_distance_weight_bug": Option(
        False, "interpolation beyond the last distance bucket as in rogue-net's first versions"
    ),
}


def checked_options(config: Mapping[str, Any], where: str = "") -> SimpleNamespace:
    """The options of `NET` with their defaults, and those of `relpos_encoding` and `translation`, checked.

    Args:
        where: the key that has these options, with a dot; "": they are the config's own.

    Raises:
        ConfigError: a key is unknown, a value is not allowed, or two do not fit together.
    """
    net = _read(where, NET, config)
    if net.d_model % net.n_head:
        raise ConfigError(f"{where}n_head={net.n_head}: it must divide {where}d_model={net.d_model}.")
    if net.relpos_encoding is not None:
        if net.pooling is not None:
            raise ConfigError(f"{where}pooling={net.pooling}: it replaces attention, which relpos_encoding needs.")
        net.relpos_encoding = _relative_positions(f"{where}relpos_encoding", net.relpos_encoding)
    if net.translation is not None:
        net.translation = _translation(f"{where}translation", net.translation)
    return net


def check_agent(config: Mapping[str, Any]) -> None:
    """Refuse settings of a config whose agent is such a network; raises as `checked_options`."""
    checked_options({key: config[key] for key in NET if key in config})
    if config.get("vf_net") and config["critic"] != "entities":
        raise ConfigError(
            f"vf_net={quoted(config['vf_net'])}: critic={config['critic']} has no network of these settings; "
            "critic=entities has."
        )


def check_critic(config: Mapping[str, Any]) -> None:
    """The same of critic=entities."""
    checked_options(config["vf_net"], "vf_net.")


def _translation(where: str, config: Mapping[str, Any]) -> SimpleNamespace:
    cut = _read(f"{where}.", TRANSLATION, config)
    if not cut.reference_entity:
        raise ConfigError(f"{where}.reference_entity is missing: name the entity type that becomes the origin.")
    _check_features(where, cut)
    if (cut.rotation_vec_features or cut.rotation_angle_feature) and len(cut.position_features) != 2:
        raise ConfigError(
            f"{where}.position_features={cut.position_features}: positions of 2 coordinates can be rotated."
        )
    return cut


def _relative_positions(where: str, config: Mapping[str, Any]) -> SimpleNamespace:
    relative = _read(f"{where}.", RELATIVE_POSITIONS, config)
    _check_features(where, relative)
    coordinates, buckets = len(relative.position_features), relative.radial + relative.distance
    wanted, meaning = (
        (buckets, "one number for each of radial and distance")
        if buckets
        else (
            coordinates,
            "one number for each of position_features",
        )
    )
    least = 1 if buckets else 0
    if len(relative.extent) != wanted or not all(
        isinstance(cells, int) and not isinstance(cells, bool) and least <= cells for cells in relative.extent
    ):
        raise ConfigError(f"{where}.extent={relative.extent}: it must be {meaning}, whole numbers from {least}.")
    size = 1
    for cells in relative.extent:
        size *= cells if buckets else 2 * cells + 1
    if size > BUCKETS:
        raise ConfigError(f"{where}.extent={relative.extent}: {size} buckets are more than {BUCKETS}.")
    rotated = relative.rotation_vec_features or relative.rotation_angle_feature
    if relative.radial and coordinates != 2:
        raise ConfigError(f"{where}.radial: angles need 2 position_features, not {coordinates}.")
    if relative.radial and not relative.distance and not rotated:
        raise ConfigError(f"{where}.radial: it needs rotation_angle_feature or rotation_vec_features.")
    if rotated and not relative.radial:
        raise ConfigError(f"{where}: rotation_angle_feature and rotation_vec_features need radial=True.")
    if relative.interpolate and not buckets:
        raise ConfigError(f"{where}.interpolate: it needs radial=True or distance=True; a grid has no interpolation.")
    if relative.per_entity_projections and not (relative.key_relpos_projection or relative.value_relpos_projection):
        raise ConfigError(f"{where}.per_entity_projections: it needs key_relpos_projection or value_relpos_projection.")
    return relative


def _check_features(where: str, config: SimpleNamespace) -> None:
    """What position_features and the two kinds of rotation have in common."""
    lists = {"position_features": config.position_features, "rotation_vec_features": config.rotation_vec_features or []}
    for key, names in lists.items():
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ConfigError(f"{where}.{key}={names}: it must be different names of features.")
    if not config.position_features:
        raise ConfigError(f"{where}.position_features is missing: name the features that are coordinates.")
    if config.rotation_vec_features is not None and len(config.rotation_vec_features) != 2:
        raise ConfigError(f"{where}.rotation_vec_features={config.rotation_vec_features}: it must be two features.")
    if config.rotation_vec_features is not None and config.rotation_angle_feature is not None:
        raise ConfigError(f"{where}: only one of rotation_vec_features and rotation_angle_feature can be set.")


def _read(where: str, options: Mapping[str, Option], config: Mapping[str, Any]) -> SimpleNamespace:
    for key in config:
        if key not in options:
            raise ConfigError(f"{where}{key}: no such option.{suggestion(key, options)}")
    return SimpleNamespace(
        **{
            key: option.checked(f"{where}{key}", config[key]) if key in config else option.default
            for key, option in options.items()
        }
    )

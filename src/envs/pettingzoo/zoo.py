"""Words that PyMARLzoo+ (Papadopoulos et al. 2025) has for PettingZoo's games, beside Muster's."""

import ast
from collections.abc import Mapping
from typing import Any

from utils.errors import ConfigError
from utils.plain_values import quoted

# of its frozen encoders of pictures; Muster has none
ENCODER = ("image_encoder", "image_encoder_batch_size", "image_encoder_use_cuda", "centralized_image_encoding")
WORDS = ("render_mode", "trainable_cnn", "partial_observation", *ENCODER)


def arguments_of(kwargs: Any, words: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the game.

    Args:
        kwargs: a mapping, or PyMARLzoo+'s pairs: "('n_pistons',4), ('continuous',False)".
        words: those of `WORDS` that are given.

    Raises:
        ConfigError: another form, or a word that asks for what Muster does not have.
    """
    found = dict(kwargs or {}) if isinstance(kwargs, Mapping | None) else _parsed(kwargs)
    if words.get("trainable_cnn") is False:
        raise ConfigError(
            "env_args.trainable_cnn=False: Muster has no frozen encoders of pictures. Leave it out and set agent=cnn, "
            "a network that learns with the policy."
        )
    if words.get("partial_observation"):
        raise ConfigError(
            "env_args.partial_observation: PyMARLzoo+ cuts the pictures of two games of Atari; Muster not."
        )
    for word in ENCODER:
        if words.get(word) is not None:
            raise ConfigError(f"env_args.{word}: Muster has no frozen encoders of pictures. Leave it out.")
    if words.get("render_mode") is not None:
        found.setdefault("render_mode", words["render_mode"])
    return found


def _parsed(given: Any) -> dict[str, Any]:
    """Pairs of names and values, as text or as what the command line makes of it; also one pair alone."""
    try:
        pairs = ast.literal_eval(f"[{given}]") if isinstance(given, str) else list(given)
        if len(pairs) == 2 and isinstance(pairs[0], str):
            pairs = [pairs]
        found = dict(pairs)
        if all(isinstance(name, str) for name in found):
            return found
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    raise ConfigError(
        f"env_args.kwargs is {quoted(given)}; it must be a mapping of arguments, or pairs as ('n_pistons',4),"
    )

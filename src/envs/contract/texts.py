"""Observations that are texts, such as the mission of MiniGrid, as numbers."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.optional import require
from envs.contract.validation import InvalidEnvironmentError
from utils.plain_values import quoted

# of a word
NUMBERS = 16
WORD = re.compile(r"\w+|[^\w\s]")


def is_text(space: Any) -> bool:
    """Whether it is gymnasium's Text, or a space of strings such as minigrid's MissionSpace."""
    return getattr(space.dtype, "kind", "") == "U"


def texts_in(path: str, space: Any) -> Iterator[str]:
    """The paths of the texts that an observation has."""
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if is_text(space):
        yield path
    elif isinstance(space, spaces.Dict | spaces.Tuple):
        named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, inner in named:
            yield from texts_in(f"{path}/{key}", inner)


def without_texts(space: Any) -> Any:
    """A space without the texts among its keys."""
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if not isinstance(space, spaces.Dict):
        return space
    # in this order; of a plain mapping, keys are sorted
    return spaces.Dict(
        OrderedDict((key, without_texts(part)) for key, part in space.spaces.items() if not is_text(part))
    )


def text_of(path: str, words: int) -> tuple[dict[str, FieldSpec], Callable[[Any], dict[str, np.ndarray]]]:
    """The field of a text, and what turns a text into its values: `NUMBERS` of each of the first words, then zeros.

    Those of a word are 1 and -1 by a hash of it: the same in every run, and different for different words.

    Args:
        words: the most that there may be; 0: the text has no field.

    Raises, when a text is turned into values:
        InvalidEnvironmentError: it has more words, or is no text.
    """
    if not words:
        return {}, lambda seen: {}

    def shown(seen: Any) -> dict[str, np.ndarray]:
        if not isinstance(seen, str):
            raise InvalidEnvironmentError(f"the observation '{path}' is {quoted(seen)}, and not a text")
        found = WORD.findall(seen.lower())
        if len(found) > words:
            raise InvalidEnvironmentError(f"the text '{path}' has {len(found)} words, more than env_args.words={words}")
        values = np.zeros((words, NUMBERS), np.float32)
        for i, word in enumerate(found):
            values[i] = _of_word(word)
        return {path: values.reshape(-1)}

    return {path: FieldSpec("observation", (words * NUMBERS,), "float32", low=-1.0, high=1.0)}, shown


@lru_cache(maxsize=10_000)
def _of_word(word: str) -> np.ndarray:
    digest = hashlib.blake2b(word.encode(), digest_size=NUMBERS // 8).digest()
    return np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float32) * 2 - 1

"""Nested lists that Hypothesis draws, and the ragged arrays in NumPy and in torch that are built from them."""

import numpy as np
import pytest
import torch as th
from hypothesis import strategies as st

from components.ragged import Ragged, RaggedTensor

NUMBERS = st.integers(-9, 9)


@st.composite
def nested(draw, features=None, sequences=None, items=None):
    """Sequences of items of equally many features, as lists; `items`: their numbers."""
    features = draw(st.integers(1, 3)) if features is None else features
    count = draw(st.integers(0, 5)) if sequences is None else sequences
    sizes = [draw(st.integers(0, 4)) for _ in range(count)] if items is None else items
    item = st.lists(NUMBERS, min_size=features, max_size=features)
    return features, [draw(st.lists(item, min_size=size, max_size=size)) for size in sizes]


KINDS = pytest.mark.parametrize(("kind", "whole"), [(Ragged, np.int64), (RaggedTensor, th.int64)])


def built(kind, whole, features, sequences):
    ragged = kind(features, whole)
    for sequence in sequences:
        ragged.push(sequence)
    return ragged

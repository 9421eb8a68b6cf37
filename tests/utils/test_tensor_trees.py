"""Trees of tensors."""

from collections import namedtuple

import pytest
import torch as th

from utils.tensors.tensor_trees import is_tree, leaves, map_tree

Pair = namedtuple("Pair", "left right")
ONE, TWO, THREE = (th.tensor([float(k)]) for k in (1, 2, 3))


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        (ONE, {"": 1}),
        ((ONE, TWO), {"0": 1, "1": 2}),
        ({"h": (ONE, TWO), "keys": THREE}, {"h/0": 1, "h/1": 2, "keys": 3}),
        (Pair(ONE, {"a": TWO}), {"0": 1, "1/a": 2}),
        ({"a": None, "b": ONE}, {"b": 1}),
        (None, {}),
    ],
)
def test_leaves_and_where_they_are(tree, paths):
    assert {path: leaf.item() for path, leaf in leaves(tree)} == paths
    assert is_tree(tree) == bool(paths)
    doubled = map_tree(lambda x, y: x + y, tree, tree)
    assert type(doubled) is type(tree)
    assert {path: leaf.item() for path, leaf in leaves(doubled)} == {path: 2 * value for path, value in paths.items()}


@pytest.mark.parametrize("tree", [[ONE], {"a": [ONE]}, (ONE, 3), "text"])
def test_anything_else_is_no_tree(tree):
    assert not is_tree(tree)
    with pytest.raises(TypeError, match=r"not (list|int|str)"):
        map_tree(lambda x: x, tree)


def test_trees_of_another_form_are_not_mapped_together():
    with pytest.raises(ValueError, match="zip"):
        map_tree(lambda x, y: x, (ONE, TWO), (ONE,))
    with pytest.raises(KeyError):
        map_tree(lambda x, y: x, {"a": ONE}, {"b": ONE})

"""Positions relative to one entity of the frame, as it sees them."""

from types import SimpleNamespace

import torch as th

from modules.entities.feature_names import feature_index, known_type
from utils.errors import MusterError

DISTANCE = "TranslatePositions.distance"


class Translation:
    """Moves the origin to a reference entity, and turns the x axis into its direction; other types only.

    A type without the position features stays as it is, and so does a frame without the reference entity.

    Args:
        config: `modules.entities.options.TRANSLATION`, checked.
        space: names of the features of each type.

    Raises:
        ConfigError: the reference entity or one of its features does not exist.
    """

    def __init__(self, config: SimpleNamespace, space: dict[str, list[str]]):
        where = "translation"
        self.reference = known_type(f"{where}.reference_entity", config.reference_entity, space)
        of_reference = space[self.reference]

        def indices(key: str, names: list[str]) -> list[int]:
            return [feature_index(f"{where}.{key}", name, self.reference, of_reference) for name in names]

        self.origin = indices("position_features", config.position_features)
        self.direction = self.angle = None
        if config.rotation_vec_features is not None:
            self.direction = indices("rotation_vec_features", config.rotation_vec_features)
        if config.rotation_angle_feature is not None:
            self.angle = indices("rotation_angle_feature", [config.rotation_angle_feature])
        self.add_distance = config.add_dist_feature
        self.positions = {
            name: [features.index(feature) for feature in config.position_features]
            for name, features in space.items()
            if name != self.reference and set(config.position_features) <= {*features}
        }

    def transformed(self, space: dict[str, list[str]]) -> dict[str, list[str]]:
        """The feature names of each type afterwards."""
        if not self.add_distance:
            return space
        return {name: [*features, DISTANCE] if name in self.positions else features for name, features in space.items()}

    def __call__(
        self, features: dict[str, th.Tensor], frames: dict[str, th.Tensor], total: int
    ) -> dict[str, th.Tensor]:
        """New features.

        Args:
            features: of each type float32 `[n, F]`.
            frames: of each type the frame of its entities, int64 `[n]`.
            total: number of frames.

        Raises:
            MusterError: a frame has several reference entities.
        """
        reference, of_frame = features[self.reference], frames[self.reference]
        if (th.bincount(of_frame, minlength=1) > 1).any():
            raise MusterError(
                f"translation.reference_entity={self.reference}: an observation has more than one of this type."
            )
        origin = reference.new_zeros(total, len(self.origin)).index_copy(0, of_frame, reference[:, self.origin])
        axis = None
        if self.angle is not None or self.direction is not None:
            if self.angle is not None:
                angle = reference[:, self.angle]
                axis = th.cat([angle.cos(), angle.sin()], 1)
            else:
                axis = reference[:, self.direction]
            identity = reference.new_tensor([[1.0, 0.0]]).repeat(total, 1)
            axis = identity.index_copy(0, of_frame, axis)
        return {name: self._moved(name, x, frames[name], origin, axis) for name, x in features.items()}

    def _moved(self, name: str, x: th.Tensor, frame: th.Tensor, origin: th.Tensor, axis: th.Tensor | None) -> th.Tensor:
        if name not in self.positions:
            return x
        indices = self.positions[name]
        positions = x[:, indices] - origin[frame]
        if axis is not None:
            cos, sin = axis[frame].unbind(1)
            along, across = positions.unbind(1)
            positions = th.stack([along * cos + across * sin, across * cos - along * sin], 1)
        x = x.clone()
        x[:, indices] = positions
        return th.cat([x, positions.norm(dim=1, keepdim=True)], 1) if self.add_distance else x

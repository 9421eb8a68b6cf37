"""RogueNet: a policy and values over frames of entities, under rogue-net's parameter names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from modules.entities.embedding import EntityEmbedding, NamedModules
from modules.entities.feature_names import columns
from modules.entities.heads import CategoricalHead, RegressionHead, SelectHead
from modules.entities.layout import Entities, Layout
from modules.entities.options import checked_options
from modules.entities.transformer import Transformer
from modules.entities.translation import Translation
from utils.tensors.devices import to_device

GLOBAL = "__global__"
Values = Mapping[str, th.Tensor]


class RogueNet(nn.Module):
    """Embeds each entity, lets a frame's entities attend to each other, and gives the logits of their actions.

    A frame is one observation: entities of each type in the declared order, numbered from 0 through all types. With a
    global action (or without any entity type) the pseudo-entity `__global__` is the last of each frame: its number is
    the count of the others, its features are the global ones. These are appended to those of each entity, too.

    Args:
        obs_space: names of the features of each entity type, in order; a type may have none.
        global_features: names of the features of the whole frame.
        actions: of each action `("categorical", choices)`, `("global", choices)` or `("select", None)`.
        config: of `modules.entities.options.NET`.
        regression_heads: of each output its width, such as `{"value": 1}`.

    Raises:
        ConfigError: an option is wrong, or names a type or a feature that does not exist.
    """

    def __init__(
        self,
        obs_space: Mapping[str, Sequence[str]],
        global_features: Sequence[str],
        actions: Mapping[str, tuple[str, int | None]],
        config: Mapping[str, Any],
        regression_heads: Mapping[str, int] | None = None,
    ):
        super().__init__()
        options = checked_options(config)
        self.obs_space = {name: list(features) for name, features in obs_space.items()}
        self.global_features = list(global_features)
        self.has_global_entity = not obs_space or any(kind == "global" for kind, _ in actions.values())
        space = {name: features + self.global_features for name, features in self.obs_space.items()}
        if self.has_global_entity:
            space[GLOBAL] = self.global_features
        self.translation = None if options.translation is None else Translation(options.translation, space)
        self.embedding = EntityEmbedding(
            self.translation.transformed(space) if self.translation else space, options.d_model
        )
        self.backbone = Transformer(options, space)
        self.action_heads = NamedModules(
            {
                name: SelectHead(options.d_model, options.d_qk)
                if kind == "select" or choices is None
                else CategoricalHead(options.d_model, choices)
                for name, (kind, choices) in actions.items()
            }
        )
        self.auxiliary_heads = NamedModules(
            {name: RegressionHead(options.d_model, width) for name, width in (regression_heads or {}).items()}
        )
        self._types = list(space)
        self._actions = list(actions)
        self._outputs = list(regression_heads or {})
        self._columns: dict[str, list[int]] = {}

    def forward(
        self,
        values: Values,
        counts: Values,
        visible: Values | None = None,
        global_features: th.Tensor | None = None,
        actors: Values | None = None,
        actees: Values | None = None,
        take_in: bool = False,
    ) -> tuple[dict[str, th.Tensor], dict[str, th.Tensor]]:
        """Logits and regression outputs of R frames.

        Args:
            values: of each type float32 `[R, C, F]`, its entities first, then padding; C may differ by type. A type
                without features may be missing.
            counts: of each type int64 `[R]`, how many of the C are entities; read in main memory, as are actors and
                actees.
            visible: of some types bool `[R, C]`; entities that are False are seen by none of the others, but by the
                regression heads. A type that is missing is visible.
            global_features: float32 `[R, g]`, if there are any.
            actors: of each action int64 `[R, S]`, numbers of entities, -1 where there is none.
            actees: of each select action int64 `[R, M]`, likewise: what each of its actors may select.
            take_in: whether these frames move the normalisation first, as every pass of rogue-net does.

        Returns:
            Of each action float32 `[R, S, choices]`, or `[R, S, M]` for a select action, 0 at absent actors and actees;
            and of each regression head `[R, width]`. What is not allowed is not masked.

        Raises:
            IndexError: a frame has no entity of an actor's or actee's number.
            MusterError: a frame has several of the reference entity of `translation`.
        """
        actors, actees = actors or {}, actees or {}
        features, entities, seen = self._frames(values, counts, visible, global_features)
        layout = self._layout(features, entities, seen)
        if take_in:
            self.embedding.take_in(features)
        x = layout.enter(self.embedding(features))
        x = self.backbone(x, layout, features, take_in)
        logits = {}
        for name in self._actions:
            of_action = (actees[name],) if name in actees else ()
            logits[name] = self.action_heads.of(name)(x, layout, actors[name], *of_action)
        return logits, {name: self.auxiliary_heads.of(name)(x, layout) for name in self._outputs}

    @th.no_grad()
    def take_in(self, values: Values, counts: Values, global_features: th.Tensor | None = None) -> None:
        """Move the normalisation of inputs by frames, as `forward(..., take_in=True)` does."""
        features, entities, _ = self._frames(values, counts, None, global_features)
        self.embedding.take_in(features)
        if self.backbone.relpos_encoding is not None:
            self.backbone.relpos_encoding(features, self._layout(features, entities), take_in=True)

    def set_obs_filter(self, obs_space: Mapping[str, Sequence[str]], global_features: Sequence[str] = ()) -> None:
        """From now on choose the known features from those of another space, by name.

        Raises:
            ConfigError: the other space lacks a type or a feature.
        """
        known = self.obs_space | {GLOBAL: self.global_features}
        self._columns = columns(known, {**obs_space, GLOBAL: global_features})

    def _frames(
        self, values: Values, counts: Values, visible: Values | None, global_features: Any
    ) -> tuple[dict[str, th.Tensor], Entities, th.Tensor | None]:
        """Features of each type `[n, F]`, frame after frame, which entities these are, and `[N]` which are visible."""
        # counts may be in main memory
        known = (*values.values(), global_features, *counts.values())
        device = next(x.device for x in known if x is not None)
        number = [counts[name].cpu().numpy() for name in self.obs_space]
        if self.has_global_entity:
            number.append(np.ones(len(number[0]) if number else len(global_features), np.int64))
        entities = Entities.of(np.stack(number))
        of_types = {
            name: (to_device(th.from_numpy(frame), device), to_device(th.from_numpy(position), device))
            for name, (frame, position) in zip(self._types, entities.by_type(), strict=True)
        }
        if self.global_features:
            global_features = self._known(GLOBAL, global_features)
        features = {
            name: self._of_type(name, values.get(name), *of_type, global_features) for name, of_type in of_types.items()
        }
        seen = None
        if visible:
            seen = th.cat(
                [
                    visible[name][frame, position] if name in visible else th.ones_like(frame, dtype=th.bool)
                    for name, (frame, position) in of_types.items()
                ]
            )
        if self.translation is not None:
            frames = {name: frame for name, (frame, _) in of_types.items()}
            features = self.translation(features, frames, entities.counts.shape[1])
        return features, entities, seen

    def _layout(self, features: dict[str, th.Tensor], entities: Entities, seen: th.Tensor | None = None) -> Layout:
        device = next(iter(features.values())).device
        return Layout(entities, device, seen, pairwise=self.backbone.relpos_encoding is not None)

    def _of_type(
        self,
        name: str,
        values: Any,
        frame: th.Tensor,
        position: th.Tensor,
        global_features: Any,
    ) -> th.Tensor:
        """Features of the entities of one type `[n, F]`, then the global ones."""
        parts = []
        if self.obs_space.get(name):
            known = self._known(name, values)
            parts.append(known.reshape(-1, known.shape[2]).index_select(0, frame * known.shape[1] + position))
        if self.global_features:
            parts.append(global_features.index_select(0, frame))
        match parts:
            case []:
                return th.empty(len(frame), 0, device=frame.device)
            case [part]:
                return part
        return th.cat(parts, 1)

    def _known(self, name: str, values: th.Tensor) -> th.Tensor:
        """The features that the network knows, of those that come."""
        return values[..., self._columns[name]] if name in self._columns else values

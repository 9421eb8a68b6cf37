"""RogueNet as the network of a controller of entities."""

from collections.abc import Mapping
from typing import Any

from modules.agents import REGISTRY
from modules.entities.fields import EntityFields
from modules.entities.rogue_net import RogueNet
from utils.config.merging import with_defaults


class RogueNetAgent(RogueNet):
    """`RogueNet` for the fields of a batch, with the options that it is registered with.

    Args:
        fields: of the batches' scheme.
        args: the options.
        regression_heads: of each output for a frame its width.
    """

    def __init__(self, fields: EntityFields, args: Any, regression_heads: Mapping[str, int] | None = None):
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        config = {
            "embd_pdrop": args.embd_pdrop,
            "resid_pdrop": args.resid_pdrop,
            "attn_pdrop": args.attn_pdrop,
            "n_layer": args.n_layer,
            "n_head": args.n_head,
            "d_model": args.d_model,
            "pooling": args.pooling,
            "relpos_encoding": args.relpos_encoding,
            "d_qk": args.d_qk,
            "translation": args.translation,
        }
        super().__init__(fields.types, fields.global_features, fields.heads, config, regression_heads)

"""The entries of agents that see entities, of any number and in any order."""

from modules.agents.options import HYPER, USE_RNN, WIDTHS
from modules.entities.options import NET
from utils.config.options import SHAPES, WIDTH, Option
from utils.config.registry import Registry

TRANSFORMER = {
    "transformer_embed_dim": Option(
        32, "numbers of a token, and of the agent's memory", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "transformer_heads": Option(
        3, "attention heads, each of transformer_embed_dim numbers", at_least=1, at_most=64, resume=SHAPES
    ),
    "transformer_depth": Option(2, "blocks of the transformer", at_least=1, at_most=64, resume=SHAPES),
}


def declare_entity_agents(agents: Registry) -> None:
    """Add them to the registry of agents."""
    agents.declare(
        "entity_attention",
        "modules.agents.entity_attention_agent:EntityAttentionAgent",
        "attention over the units that an agent sees, the same weights on every map (env_args.observation=entities)",
        memory=True,
        needs_entities=True,
        check="modules.entities.options:check_agent",
        options=WIDTHS | USE_RNN | {key: NET[key] for key in ("n_layer", "n_head", "d_model", "d_qk")},
    )
    agents.declare(
        "hpn_rnn",
        "modules.agents.hpn_rnn_agent:HPNAgent",
        "weights of each entity from its features, so that their order does not matter; GRU cell (HPN)",
        memory=True,
        needs_meaning=True,
        options={
            **WIDTHS,
            **HYPER,
            "hpn_head_num": Option(
                1, "hypernetworks for each kind of entity, merged by weights", at_least=1, at_most=64, resume=SHAPES
            ),
        },
    )
    agents.declare(
        "updet",
        "modules.agents.updet_agent:UPDeTAgent",
        "a transformer over entities, whose memory is one of its tokens (UPDeT)",
        memory=True,
        needs_meaning=True,
        options=TRANSFORMER,
    )
    agents.declare(
        "transf",
        "modules.agents.transf_agent:TransfAgent",
        "a transformer over entities, whose memory is the token that actions come from (TransfQMIX)",
        memory=True,
        needs_meaning=True,
        options=TRANSFORMER,
    )
    agents.declare(
        "entity_attend_rnn",
        "modules.agents.entity_attend_agent:EntityAttendAgent",
        "attention of the agent to the entities that it sees, whatever their number; GRU cell (REFIL)",
        memory=True,
        needs_meaning=True,
        options={
            **WIDTHS,
            "attn_embed_dim": Option(
                64, "numbers of an entity, a multiple of attn_heads", at_least=1, at_most=WIDTH, resume=SHAPES
            ),
            "attn_heads": Option(4, "heads of the agent's attention", at_least=1, at_most=64, resume=SHAPES),
        },
    )
    agents.declare(
        "pooled_rnn",
        "modules.agents.pooled_agent:PooledAgent",
        "mean and largest of the entities that it sees, whatever their number and order; GRU cell",
        memory=True,
        needs_meaning=True,
        options={
            **WIDTHS,
            "pool_dim": Option(
                32, "numbers of an entity that agent=pooled_rnn pools", at_least=1, at_most=WIDTH, resume=SHAPES
            ),
            "key_dim": Option(
                16, "numbers of a target's key (agent=pooled_rnn)", at_least=1, at_most=WIDTH, resume=SHAPES
            ),
        },
    )
    agents.declare(
        "deepset_rnn",
        "modules.agents.deepset_agent:DeepSetAgent",
        "a sum over entities through layers of their kinds, so that their order does not matter; GRU cell (deep sets)",
        memory=True,
        needs_meaning=True,
        options={
            **WIDTHS,
            **HYPER,
            "target_weights": Option(
                False, "actions with a target are valued by weights made of its features, as HPN's", resume=SHAPES
            ),
        },
    )
    agents.declare(
        "gnn_rnn",
        "modules.agents.gnn_agent:GNNAgent",
        "a graph network over the agent and the entities that it sees, whose order does not matter; GRU cell",
        memory=True,
        needs_meaning=True,
        options={
            **WIDTHS,
            "gnn_layer_num": Option(1, "layers of the graph network", at_least=1, at_most=64, resume=SHAPES),
        },
    )
    agents.declare(
        "asn_rnn",
        "modules.agents.asn_agent:ASNAgent",
        "a memory of all that is seen and one of each target, whose product is an action's value (ASN)",
        memory=True,
        needs_meaning=True,
        options={
            "asn_hidden_size": Option(32, "units of agent=asn_rnn", at_least=1, at_most=WIDTH, resume=SHAPES),
        },
    )

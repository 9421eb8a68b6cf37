"""Mixers: from the agents' values to the value of the team."""

import inspect
from typing import Any

from utils.config.options import SHAPES, SHARED, WIDTH, Option
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("mixer")
EMBEDDING = {
    "mixing_embed_dim": Option(
        SHARED, "units of the mixing network's hidden layer", at_least=1, at_most=WIDTH, resume=SHAPES
    )
}
HYPERNET_EMBED = {
    "hypernet_embed": Option(64, "hidden units of two-layer hypernetworks", at_least=1, at_most=WIDTH, resume=SHAPES)
}
HYPERNET_LAYERS = {
    "hypernet_layers": Option(
        1, "layers of the hypernetworks that make the mixing weights, 1 or 2", choices=(1, 2), resume=SHAPES
    )
}
POSITIVE = {
    "qmix_pos_func": Option(
        "abs",
        "makes the mixing weights positive: abs, softplus or quadratic (half the square)",
        choices=("abs", "softplus", "quadratic"),
    ),
    "qmix_pos_func_beta": Option(1.0, "softplus: the larger, the sharper it bends", above=0),
}
MIXER_HEADS = {
    "mixer_heads": Option(4, "heads of attention over the state's entities", at_least=1, at_most=64, resume=SHAPES)
}
NETWORK_SIZE = Option("small", "small (2 hidden layers) or big (3)", choices=("small", "big"), resume=SHAPES)


OWN_PARTS = {
    "agent_own_state_size": Option(
        0,
        "numbers of each agent at the start of the state, one agent after the other, by which attention knows it; "
        "0: by its observation",
        at_least=0,
        at_most=WIDTH,
        resume=SHAPES,
    ),
    "n_attention_head": Option(4, "heads of the attention over agents", at_least=1, at_most=64, resume=SHAPES),
    "weighted_heads": Option(True, "weigh heads by the state; False: all alike", resume=SHAPES),
}
ADVANTAGES = {
    "num_kernel": Option(4, "heads of the attention that weighs advantages", at_least=1, at_most=64, resume=SHAPES),
    "adv_hypernet_layers": Option(2, "layers of each of these heads, 1 to 3", choices=(1, 2, 3), resume=SHAPES),
    "adv_hypernet_embed": Option(64, "hidden units of these heads", at_least=1, at_most=WIDTH, resume=SHAPES),
    "is_minus_one": Option(True, "weigh advantages by lambda - 1 on top of the sum of values; False: by lambda"),
}


def _width(units: int, of: str) -> Option:
    return Option(units, f"units of {of} (Qatten)", at_least=1, at_most=WIDTH, resume=SHAPES)


# stepwise: its output at one time step depends on that step alone
REGISTRY.declare(
    "vdn",
    "modules.mixers.vdn:VDNMixer",
    "the sum of the agents' values (VDN)",
    mixes="chosen_values",
    stepwise=True,
    takes=("absent_agents",),
    options={},
)
REGISTRY.declare(
    "qmix",
    "modules.mixers.qmix:QMixer",
    "a monotonic network of the agents' values (QMIX)",
    mixes="chosen_values",
    stepwise=True,
    takes=("absent_agents",),
    options={
        **EMBEDDING,
        **HYPERNET_LAYERS,
        **HYPERNET_EMBED,
    },
)
REGISTRY.declare(
    "nmix",
    "modules.mixers.qmix:NMixer",
    "qmix with PyMARL2's names of weights, and a choice of what makes them positive",
    mixes="chosen_values",
    stepwise=True,
    takes=("absent_agents",),
    options={
        **EMBEDDING,
        **HYPERNET_EMBED,
        **POSITIVE,
    },
)
REGISTRY.declare(
    "flex_qmix",
    "modules.mixers.flex_qmix:FlexQMixer",
    "qmix whose weights are made by attention over the entities of the state, whatever their number (REFIL)",
    mixes="chosen_values",
    stepwise=True,
    needs_state_entities=True,
    takes=("absent_agents",),
    options={
        **EMBEDDING,
        **HYPERNET_EMBED,
        **MIXER_HEADS,
        "softmax_mixing_weights": Option(
            True, "mixing weights are a softmax over the mixing units; False: absolute values"
        ),
    },
)
REGISTRY.declare(
    "transf",
    "modules.mixers.transf:TransfMixer",
    "qmix whose weights a transformer makes of the state's entities and the agents' memories (TransfQMIX)",
    mixes="choices",
    sees=("memory",),
    recurrent=True,
    needs_state_entities=True,
    takes=("absent_agents",),
    learners=("q_learner",),
    agents=("transf", "updet"),
    options={
        **MIXER_HEADS,
        **POSITIVE,
        "mixer_depth": Option(2, "blocks of the mixer's transformer", at_least=1, at_most=64, resume=SHAPES),
    },
    reads=("transformer_embed_dim",),
)
REGISTRY.declare(
    "linear",
    "modules.mixers.linear:LinearMixer",
    "a sum of the agents' values, each weighed by the state (DOP)",
    mixes="chosen_values",
    stepwise=True,
    takes=("absent_agents",),
    options=HYPERNET_EMBED,
)
REGISTRY.declare(
    "qatten",
    "modules.mixers.qatten:QattenMixer",
    "a sum of the agents' values by attention (Qatten)",
    mixes="choices",
    sees=("obs",),
    stepwise=True,
    options={
        **OWN_PARTS,
        "n_query_embedding_layer1": _width(64, "the hidden layer that makes queries"),
        "n_query_embedding_layer2": _width(32, "queries and keys"),
        "n_head_embedding_layer1": _width(64, "the hidden layer that makes the weights of heads"),
        "n_constrant_value": _width(32, "the hidden layer that makes the value of the state"),
    },
)
REGISTRY.declare(
    "qplex",
    "modules.mixers.qplex:QPLEXMixer",
    "values, and weighted advantages of the joint action over the greedy one (QPLEX)",
    mixes="choices",
    sees=("actions", "greedy_qvals"),
    stepwise=True,
    takes=("absent_agents",),
    options={
        **HYPERNET_EMBED,
        **ADVANTAGES,
        "weighted_head": Option(
            True, "scale and shift each agent's value by the state before mixing; False: as it is", resume=SHAPES
        ),
    },
    # keys of PyMARL2's qplex.yaml, which its mixer does not read either
    inert=("is_adv_attention", "is_stop_gradient"),
)
REGISTRY.declare(
    "dmaq_qatten",
    "modules.mixers.dmaq_qatten:DMAQQattenMixer",
    "qplex whose values are scaled by attention over agents",
    mixes="choices",
    sees=("actions", "greedy_qvals", "obs"),
    stepwise=True,
    regularised=True,
    learners=("q_learner", "cds_learner", "emc_learner", "maser_learner", "roma_learner", "rode_learner"),
    options={
        **EMBEDDING,
        **HYPERNET_EMBED,
        **OWN_PARTS,
        **ADVANTAGES,
        "attend_reg_coef": Option(0.001, "weight of the squares of attention's logits in the loss", at_least=0),
        "attend_padding": Option(False, "padded steps count in their mean (mistake of PyMARLzoo+)"),
    },
)
REGISTRY.declare(
    "shaq",
    "modules.mixers.shaq:SHAQMixer",
    "a sum of the agents' values, those of actions that are not greedy weighed by coalitions (SHAQ)",
    mixes="choices",
    sees=("greedy_qvals",),
    stepwise=True,
    takes=("absent_agents",),
    options={
        **EMBEDDING,
        **HYPERNET_EMBED,
        "shaq_samples": Option(10, "random orders of the agents by which values are weighed", at_least=1, at_most=1000),
    },
)
REGISTRY.declare(
    "maven",
    "modules.mixers.maven:MAVENMixer",
    "qmix that also sees the episode's latent variable (MAVEN)",
    mixes="choices",
    sees=("noise",),
    stepwise=True,
    takes=("absent_agents",),
    learners=("maven_learner",),
    options={**EMBEDDING, **HYPERNET_LAYERS, **HYPERNET_EMBED},
    reads=("noise_dim",),
)
REGISTRY.declare(
    "qtran_base",
    "modules.mixers.qtran:QTranBase",
    "a joint action value and a state value (QTRAN-base)",
    mixes="joint_action",
    options={
        **EMBEDDING,
        "qtran_arch": Option(
            "qtran_paper",
            "input of the joint value: qtran_paper (hidden states) or coma_critic (joint action)",
            choices=("qtran_paper", "coma_critic"),
            resume=SHAPES,
        ),
        "network_size": NETWORK_SIZE,
    },
    reads=("rnn_hidden_dim",),
)
REGISTRY.declare(
    "qtran_alt",
    "modules.mixers.qtran:QTranAlt",
    "joint action values of each agent's actions, and a state value (QTRAN-alt)",
    mixes="joint_action_by_agent",
    options={**EMBEDDING, "network_size": NETWORK_SIZE},
    reads=("rnn_hidden_dim",),
)


def build_mixer(name: str, args: Any) -> Any:
    """The mixer of this name; a constructor without parameters, such as that of PyMARL's VDN, gets no arguments."""
    mixer = REGISTRY[name]
    takes = [p for p in inspect.signature(mixer).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return mixer(args) if takes else mixer()


__getattr__ = lazy_classes(__name__, REGISTRY)

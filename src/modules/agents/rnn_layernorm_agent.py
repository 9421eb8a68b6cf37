"""The recurrent agent with layer normalisation, which learning without target networks needs."""

from modules.agents.rnn_agent import RNNAgent


class RNNLayerNormAgent(RNNAgent):
    """`RNNAgent` with `layer_norm`.

    Normalised layers keep temporal-difference learning from diverging (Gallici et al. 2024, section 3).
    """

    prepared = RNNAgent.prepared

    def _normalised(self) -> bool:
        return True

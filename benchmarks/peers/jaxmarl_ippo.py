"""Steps a second of JaxMARL's IPPO with a GRU on SMAX, in a Python that has its requirements; `ppo_speed.py` starts it.

    python jaxmarl_ippo.py <checkout> <map> <updates>

Its settings are those of its file for SMAX; the time of compiling is not counted.
"""

import json
import sys
import time
import types
from pathlib import Path

root, map_name, updates = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
baseline = root / "baselines" / "IPPO"
sys.path[:0] = [str(root), str(baseline)]
# it logs there at every update; nothing is sent
sys.modules["wandb"] = types.SimpleNamespace(log=lambda *_, **__: None)

import ippo_rnn_smax  # noqa: E402
import jax  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

config = OmegaConf.load(baseline / "config" / "ippo_rnn_smax.yaml")
del config["ENTITY"]  # from a variable of the environment
config = OmegaConf.to_container(config)
steps = updates * config["NUM_ENVS"] * config["NUM_STEPS"]
config |= {"MAP_NAME": map_name, "TOTAL_TIMESTEPS": steps}
key = jax.random.PRNGKey(0)
train = jax.jit(ippo_rnn_smax.make_train(config)).lower(key).compile()
start = time.perf_counter()
jax.block_until_ready(train(key)["runner_state"])
print(json.dumps({"rate": steps / (time.perf_counter() - start)}))

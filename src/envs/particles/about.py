"""What the arguments of particle worlds mean."""

from envs.contract.about import REWARD, SEED, STEPS, About

ARGUMENTS = {
    "scenario": "simple, simple_spread, simple_adversary, simple_tag, simple_speaker_listener, simple_crypto, "
    "simple_push, simple_reference or simple_world_comm",
    **STEPS,
    **REWARD,
    "N": "agents and landmarks of simple_spread (3), good agents and landmarks of simple_adversary (2)",
    "num_good": "prey of simple_tag (1), of simple_world_comm (2)",
    "num_adversaries": "hunters of simple_tag (3), of simple_world_comm (4)",
    "num_obstacles": "of simple_tag (2), of simple_world_comm (1)",
    "num_food": "of simple_world_comm (2)",
    "num_forests": "of simple_world_comm (2)",
    "num_agent_neighbors": "simple_spread, simple_adversary, simple_tag: how many agents an agent sees, the nearest; "
    "null: all",
    "num_landmark_neighbors": "how many landmarks it sees; likewise",
    "local_ratio": "share of an agent's own reward, in simple_spread and simple_reference (0.5)",
    "curriculum": "simple_spread: collisions cost nothing; simple_tag: the prey is half as fast",
    "terminate_on_success": "an episode ends when all landmarks are covered (simple_spread), all prey is caught "
    "(simple_tag)",
    "continuous_actions": "numbers from 0 to 1 in place of choices",
    "opponent": "frozen, random or rule play the prey of simple_tag or the adversary of simple_adversary, which then "
    "leaves the team; null: none",
    "dynamic_rescaling": "the package's, for its pictures: does nothing here",
    **SEED,
}
ABOUT = About(ARGUMENTS, saved="yes", drawn="yes")

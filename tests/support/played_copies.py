"""Random play of the copies of a compiled game."""


def played(env, rng, steps=60, restart=True):
    """All that is seen of them, for each step: what is observed, rewards, ends, infos and the drawing."""
    seen = []
    for _ in range(steps):
        shown = {path: array.copy() for path, array in env.observed().items()}
        legal = shown["avail_actions"]
        outcome = env.step({"actions": (rng.random(legal.shape) * legal).argmax(-1)})
        ended = outcome.terminated | outcome.truncated
        infos = [env.info(b) for b in range(len(legal))]
        seen.append((shown, outcome.values["reward"].copy(), outcome.terminated.copy(), ended, infos, env.snapshot()))
        if restart:
            env.reset(ended)
    return seen

"""An environment whose agents are streams, as declared fields."""

from envs.contract.fields import EnvSpec, FieldSpec


def stream_spec(agents, size):
    """Of so many agents with observations of `size` numbers and three choices."""
    fields = {
        "obs": FieldSpec("observation", (size,)),
        "closing": FieldSpec("record", (size,)),
        "present": FieldSpec("mask", (), "bool"),
        "begins": FieldSpec("record", (), "bool"),
        "avail_actions": FieldSpec("mask", (3,), "uint8", of="actions"),
        "actions": FieldSpec("action", (), "int64", n=3),
        "reward": FieldSpec("outcome", ()),
        "agents/terminated": FieldSpec("outcome", (), "bool"),
        "agents/truncated": FieldSpec("outcome", (), "bool"),
    }
    return EnvSpec(fields, {"agents": agents}, 10**6, declared=True)

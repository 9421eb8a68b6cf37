"""The processes of one run that somebody has started: torchrun, or a job of a cluster, by torch's variables."""

import os

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def launched_ranks() -> tuple[int, int] | None:
    """This process's number among those that were started together, and how many they are; None: it is alone."""
    if not all(os.environ.get(name) for name in VARIABLES):
        return None
    rank, size = os.environ["RANK"], os.environ["WORLD_SIZE"]
    if not (rank.isdigit() and size.isdigit()) or int(size) < 2:
        return None
    return int(rank), int(size)


def place_on_machine() -> int:
    """This process's number among those of its machine (LOCAL_RANK), 0 where nobody says."""
    found = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", "0"))
    return int(found) if found.isdigit() else 0


def see_own_card_first(place: int, first: int, count: int) -> None:
    """Let a process see a card of its own as the number `first`, which the run's first process computes on.

    So names of devices mean in every process its own card. To be called before torch looks at cards.

    Args:
        place: the process's number on its machine; one more than there are cards has the first one's again.
        count: how many cards it sees.
    """
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name for name in listed.split(",") if name] if listed else [str(card) for card in range(count)]
    if first < len(names):
        order = [first, *(card for card in range(len(names)) if card != first)]
        own = order[place % len(names)]
        names[own], names[first] = names[first], names[own]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names)

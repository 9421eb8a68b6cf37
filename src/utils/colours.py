"""The colours of figures and of replays, which GIFs and the page draw alike."""

# Okabe and Ito's, which people with colour-blindness can tell apart, without their yellow, which pales on white
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

INK, PALE = "#1f2430", "#ffffff"
# of units and of what they do; the page gets them by these names
TEAMS = OKABE_ITO[:5]
NEUTRAL, DEAD, LOST = "#8d8675", "#6d6a63", "#3a3d44"
METERS = {"health": "#1b7f3b", "shield": "#3c8fd0", "energy": "#9a5bc4"}
LINKS = {"attack": "#b3261e", "heal": "#00694a"}
OTHER_LINK = "#8f8a7c"
# of where they are
GROUND = {".": "#f3f1ea", "^": "#e2dac4", "#": "#8b9096"}
EMPTY, GRID = "#f7f6f2", "#dcd8cc"
OF_REPLAYS = {
    "ink": INK,
    "pale": PALE,
    "teams": TEAMS,
    "neutral": NEUTRAL,
    "dead": DEAD,
    "lost": LOST,
    "meters": METERS,
    "links": LINKS,
    "otherLink": OTHER_LINK,
    "ground": GROUND,
    "empty": EMPTY,
    "grid": GRID,
}


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour such as "#0072B2" as its parts, from 0 to 255."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue

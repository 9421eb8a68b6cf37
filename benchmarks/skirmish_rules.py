"""What single rules of Skirmish do to the battles of SMAC's scripted player (`heuristic_ai`), map by map.

    python benchmarks/skirmish_rules.py --results rules.json
    python benchmarks/skirmish_rules.py --results rules.json --rules turning weakest --maps 3s5z 2s3z
    python benchmarks/skirmish_rules.py --seconds 3s5z

A rule is a change of some lines of `src/envs/skirmish`, made in a copy of `src` that is compiled by itself, so that the
simulator has no switches for what it does not do. What is in `--results` is not played again. `--seconds` prints what
both sides have left, and what they do, second by second.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIRMISH = Path("envs", "skirmish")
BEHAVIOUR, COMBAT = (Path("kernel", name) for name in ("behaviour.py", "combat.py"))
MOVEMENT, ORDERS, BATTLE = (Path("kernel", name) for name in ("movement.py", "orders.py", "battle.py"))
LOOPS_PER_SECOND = 22.4
DOES = "moved", "cooldown"
# what a unit of the game's enemies turns in a loop: 999.84 degrees a second
TURN = 999.84 / LOOPS_PER_SECOND

Change = tuple[Path, str, str]
CHOICE = "        if attacks > best_attacks or"
KEPT = "    kept = can_target(u, i, current, types) and gap(u, i, current) <= me.attack_range\n"
LEFT = "    if kept and (scenario.rules == 1 or u[current].order == TARGET):\n"
ANSWERS = "    if scenario.rules > 1 and not kept and hurt and gap(u, i, attacker) <= me.acquire_range:\n"
ATTACKS = "        attacks = scenario.rules > 1 and u[j].order == TARGET\n"
VERSION = "    rules: int = RULES[-1]\n"
RETURN_FIRE = "        u[i].target = attacker if hurt else NOBODY\n"
NEW_TARGET = "        if u[i].target != NOBODY and before == NOBODY:\n            u[i].reaction = scenario.reaction\n"
JITTER = "        u[i].cooldown += draw(battle) % 4 - 1\n"
WAIT = "    u[j].shield_wait = SHIELD_DELAY_LOOPS\n"
BLOCKED = "    bodies = find_bodies(u, near, i, np.sqrt(dx * dx + dy * dy))\n"
OVERLAP = "            reach = u[i].body + u[j].body\n            square = dx * dx + dy * dy\n            again ="
SCRIPT = "    if j == NOBODY or not can_target(u, i, j, types):\n        j = nearest_target"
ORDERED = "    else:\n        order(u, i, TARGET, j)\n"
LOOP = "        game_loop(battle, u,"
STEP = "    give_orders(battle, u, types, scenario, actions)\n"
STANDS = "        stands = (u[j].moved == 0) &"
HUNT = "        if u[i].target == NOBODY and scenario.enemy_order == ATTACK_NEAREST:\n"
REACH = "        reach = me.acquire_range + bodies\n"

TURNING = f"""        if u[i].target != NOBODY and u[i].target != before:
            dx, dy = u[u[i].target].x - u[i].x, u[u[i].target].y - u[i].y
            far = np.sqrt(dx * dx + dy * dy)
            cos = (dx * u[i].fov_x + dy * u[i].fov_y) / max(far, 1e-9)
            u[i].reaction = scenario.reaction + int(np.ceil(np.degrees(np.arccos(min(max(cos, -1.0), 1.0))) / {TURN}))
            u[i].fov_x, u[i].fov_y = dx / max(far, 1e-9), dy / max(far, 1e-9)
"""

NEAREST = BEHAVIOUR, KEPT, "    kept = False\n"
SELDOM = [
    (BATTLE, "    choose_targets(u, types, scenario)\n", ""),
    (BATTLE, LOOP, f"        if k % 8 == 0:\n            choose_targets(u, types, scenario)\n{LOOP}"),
]
RULES: dict[str, tuple[str, list[Change]]] = {
    "as it is": ("", []),
    "rules 1": (
        "an enemy cares less who attacks: the two rules below are not there",
        [(Path("options.py"), VERSION, VERSION.replace("-1", "0"))],
    ),
    "no answer": (
        "an enemy without a target in range of its weapon does not turn to whoever hurt it last",
        [(BEHAVIOUR, ANSWERS, "    if False:\n")],
    ),
    "no preference": (
        "an enemy does not prefer foes that attack",
        [(BEHAVIOUR, LEFT, "    if kept:\n"), (BEHAVIOUR, ATTACKS, "        attacks = False\n")],
    ),
    "random": (
        "an enemy takes a random one of the foes within reach, not the nearest",
        [(BEHAVIOUR, CHOICE, "        edge = float((i * 7919 + j * 104729 + int(u[i].x * 4096)) % 1009)\n" + CHOICE)],
    ),
    "weakest": (
        "an enemy takes the one with the least health and shield within reach",
        [(BEHAVIOUR, CHOICE, "        edge = u[j].health + u[j].shield\n" + CHOICE)],
    ),
    "nearest again": (
        "an enemy turns to a nearer foe, even with a target in range of its weapon",
        [NEAREST],
    ),
    "no return fire": (
        "an enemy does not follow who hurt it from out of its reach",
        [(BEHAVIOUR, RETURN_FIRE, "        u[i].target = NOBODY\n")],
    ),
    "leash": (
        "an enemy leaves a foe that is more than 2 out of range of its weapon, and marches on",
        [(BEHAVIOUR, REACH, "        reach = min(me.acquire_range, me.attack_range + 2.0) + bodies\n")],
    ),
    "sight": ("an enemy sees foes within 9", [(BEHAVIOUR, REACH, "        reach = 9.0 + bodies\n")]),
    "looks seldom": ("enemies look for targets in every eighth loop only", SELDOM),
    "seldom, nearest": (
        "enemies look for targets in every eighth loop only, and then take the nearest",
        [*SELDOM, NEAREST],
    ),
    "ordered again": (
        "enemies are ordered to march at each step, and forget their target",
        [(BATTLE, STEP, f"    for i in range(scenario.n_agents, u.size):\n        u[i].target = -1\n{STEP}")],
    ),
    "waits": (
        "enemies stay where they are until they see a foe",
        [
            (
                BEHAVIOUR,
                "        if order == MOVE or dx * dx",
                "        if order == MOVE or u[i].attacked > 0 and dx * dx",
            )
        ],
    ),
    "hunts": (
        "enemies march to the nearest agent, not to the map's point",
        [(BEHAVIOUR, HUNT, "        if u[i].target == NOBODY:\n")],
    ),
    "turning": (
        f"an enemy turns by {TURN:.0f} degrees a loop before it fires at a new target; agents turn at once",
        [(BEHAVIOUR, NEW_TARGET, TURNING)],
    ),
    "late orders": (
        "an agent's weapon waits a loop longer at each step, as if an order took time",
        [(ORDERS, ORDERED, ORDERED + "        u[i].cooldown += 1.0\n")],
    ),
    "script looks again": (
        "the script attacks whoever is nearest at each step, not the same until it is dead",
        [(ORDERS, SCRIPT, "    if True:\n        j = nearest_target")],
    ),
    "no jitter": ("weapons have no random part", [(COMBAT, JITTER, "        u[i].cooldown += 0.0\n")]),
    "more jitter": (
        "their random part is -2 to 4 loops",
        [(COMBAT, JITTER, "        u[i].cooldown += draw(battle) % 7 - 2\n")],
    ),
    "shields sooner": (
        "shields come back after 5 seconds",
        [(COMBAT, WAIT, "    u[j].shield_wait = SHIELD_DELAY_LOOPS // 2\n")],
    ),
    "no shields back": ("shields do not come back", [(COMBAT, WAIT, "    u[j].shield_wait = 2**30\n")]),
    "no bodies": (
        "units walk through one another",
        [(MOVEMENT, BLOCKED, "    bodies = 0\n"), (MOVEMENT, OVERLAP, OVERLAP.replace("u[i].body + u[j].body", "0.0"))],
    ),
    "friends pass": (
        "units walk through their friends",
        [
            (MOVEMENT, STANDS, f"        stands = (u[j].order != u[i].order) & {STANDS.partition('= ')[2]}"),
            (MOVEMENT, OVERLAP, f"{OVERLAP} (u[j].order == u[i].order) |"),
        ],
    ),
}
# of the tables in docs/skirmish_fidelity.md
EPISODES = 256


def changed(name: str) -> dict[Path, str]:
    """The files of `src/envs/skirmish` that a rule changes, with their new text.

    Raises:
        SystemExit: a line is not in the source, or more than once.
    """
    texts: dict[Path, str] = {}
    for file, before, after in RULES[name][1]:
        text = texts.get(file) or (ROOT / "src" / SKIRMISH / file).read_text()
        if text.count(before) != 1:
            sys.exit(f"{name}: {file} has the lines that it changes {text.count(before)} times:\n{before}")
        texts[file] = text.replace(before, after)
    return texts


def played(name: str, maps: list[str], options: argparse.Namespace) -> dict[str, float]:
    """The share of battles won by map, under a rule."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        for file, text in changed(name).items():
            (source / SKIRMISH / file).write_text(text)
        words = [__file__, "--child", "--maps", *maps, "--episodes", str(options.episodes), "--seed", str(options.seed)]
        environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": folder}
        done = subprocess.run([sys.executable, *words], env=environment, text=True, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)


def child(options: argparse.Namespace) -> None:
    from envs.skirmish.batch import BatchedSkirmish

    setting = {"seed": options.seed, "heuristic_ai": True}
    from heuristic_ai import play  # after the simulator, as it would put this checkout's in front

    print(
        json.dumps(
            {name: play(BatchedSkirmish(options.episodes, map_name=name, **setting))[0] for name in options.maps}
        )
    )


def second_by_second(options: argparse.Namespace) -> None:
    """Print the means over battles of what both sides have left and do, at each third step, which is 1.07 seconds."""
    import numpy as np

    from envs.skirmish.batch import BatchedSkirmish

    battles = BatchedSkirmish(options.episodes, map_name=options.seconds, seed=options.seed, heuristic_ai=True)
    out, units = battles.reset(), battles.state.units
    at_first, step = (units["health"] + units["shield"]).astype(float), 0
    print("| second | alive | health and shield | moving | weapons cooling |\n|" + " --- |" * 5)
    while (battles.state.battle["ended"] == 0).any():
        alive = units["health"] > 0
        left = np.where(alive, units["health"] + units["shield"], 0.0)
        rows = []
        for side in (slice(0, battles.n_agents), slice(battles.n_agents, None)):
            living = alive[:, side]
            shares = [
                (units[key] > 0)[:, side][living].mean() if living.any() else 0.0 for key in ("moved", "cooldown")
            ]
            rows.append((living.sum(axis=1).mean(), left[:, side].sum() / at_first[:, side].sum(), *shares))
        cells = [f"{agents:.2f} : {enemies:.2f}" for agents, enemies in zip(*rows, strict=True)]
        if step % 3 == 0:
            print(f"| {step * 8 / LOOPS_PER_SECOND:.1f} | {' | '.join(cells)} |", flush=True)
        battles.step(out.avail_actions.argmax(-1))
        step += 1
    print(f"Won by the agents, which come first: {100 * battles.state.battle['won'].mean():.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--maps", nargs="+", default=[])
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("skirmish_rules.json"))
    parser.add_argument("--seconds", metavar="MAP")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    sys.path.insert(0, str(ROOT / "src"))
    if options.seconds:
        second_by_second(options)
        return
    from envs.skirmish.maps import load_data

    maps = options.maps or list(load_data()["maps"])
    known = json.loads(options.results.read_text()) if options.results.exists() else {}
    for name in options.rules:
        won = known.setdefault(name, {})
        if missing := [map_ for map_ in maps if map_ not in won]:
            won |= played(name, missing, options)
            options.results.write_text(json.dumps(known, indent=1))
            print(name, {map_: round(100 * won[map_], 1) for map_ in maps}, file=sys.stderr, flush=True)
    from heuristic_ai import IN_THE_GAME

    compared = [name for name in maps if name in IN_THE_GAME]
    print_table(known, options.rules, compared, {name: IN_THE_GAME[name] for name in compared})
    if others := [name for name in maps if name not in IN_THE_GAME]:
        print()
        print_table(known, options.rules, others, {})


def print_table(known: dict, rules: list[str], maps: list[str], game: dict[str, float]) -> None:
    """A row for each rule, without the maps that are never won; with the game's, and differences from them."""
    shown = [name for name in maps if max(known[rule][name] for rule in rules) > 0]
    more = ["mean difference", "largest"] if game else []
    print("| " + " | ".join(["rule", *shown, *more]) + " |\n|" + " --- |" * (1 + len(shown) + len(more)))
    if game:
        print("| the game | " + " | ".join(f"{game[name]}" for name in shown) + " | | |")
    for rule in rules:
        cells = [f"{100 * known[rule][name]:.1f}" for name in shown]
        if game:
            away = [abs(100 * known[rule][name] - game[name]) for name in maps]
            cells += [f"{sum(away) / len(away):.1f}", f"{max(away):.1f}"]
        print(f"| {rule} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

"""Reference times of racing: those of the hand-written driver, and of a search for a better line.

The search is an evolution strategy over the driver's line and its speed in bends, in many races at once.

python benchmarks/race_times.py --tracks seed:1 seed:2
python benchmarks/race_times.py --tracks seeds:1-6 --seconds 120 --save lines
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from envs.racing.batch import BatchedRaces
from envs.racing.map_cycle import races_of
from scripted_driver import KNOT, Driver, Plans, Style, least_bent, middle_of, plans_of

LONGEST = 2400  # steps of a race


def driven(races: BatchedRaces, driver: Driver) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds of each race, infinite for those that do not finish; and all actions `[T, B]`."""
    actions = []
    while not races.state.race["ended"].all() and len(actions) < LONGEST:
        actions.append(driver.actions()[:, 0])
        races.step(actions[-1][:, None])
    car = races.state.cars[:, 0]
    return np.where(car["finished"] == 1, car["race_ms"], np.inf), np.array(actions)


def search(
    name: str, options: dict, seconds: float, population: int, rng: np.random.Generator
) -> tuple[int, list[int]]:
    """The best time, ms, and its actions."""
    races = BatchedRaces(population, seed=1, **options)
    middle, half_width, last = middle_of(races, [race.name for race in races.maps].index(name))
    style, start = Style(), time.perf_counter()
    mean = np.stack([least_bent(middle[:last:KNOT], half_width - style.margin), np.zeros(len(range(0, last, KNOT)))])
    spread, best, kept = np.full_like(mean, 0.3), np.inf, []
    room, elite = half_width - 1.3, population // 8
    while time.perf_counter() - start < seconds:
        # a few knots at a time: a change of one bend leaves the others as they are
        which = rng.random((population, 1, mean.shape[1])) < rng.choice([0.1, 0.3, 1.0], size=(population, 1, 1))
        tried = mean + spread * which * rng.normal(size=(population, *mean.shape))
        tried[0] = mean
        tried[:, 0] = np.clip(tried[:, 0], -room, room)
        plans: Plans = plans_of(middle, tried[:, 0], style.cornering * np.exp(0.5 * tried[:, 1]), style)
        races.reset_to(name)
        times, actions = driven(races, Driver(races, style, plans))
        order = np.argsort(times)[:elite]
        if times[order[0]] < best:
            best = times[order[0]]
            kept = actions[:, order[0]].tolist()
        good = order[np.isfinite(times[order])]
        if len(good):
            moved = tried[good].mean(axis=0)
            spread = np.clip(0.9 * spread + 0.1 * 1.5 * tried[good].std(axis=0), 0.03, 0.6)
            mean = 0.5 * mean + 0.5 * (moved if len(good) == elite else tried[good[0]])
        else:
            spread *= 0.7
    return int(best), kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tracks", nargs="+", default=["seed:1"], help="entries of env_args.map_cycle")
    parser.add_argument("--seconds", type=float, default=60.0, help="of search for each track; 0: none")
    parser.add_argument("--population", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="folder for the actions of the best races, <track>.json")
    options = parser.parse_args()
    print(f"{'track':<20}{'metres':>8}{'driver, s':>12}{'search, s':>12}")
    for race in dict.fromkeys(races_of("map_cycle", options.tracks, 8.0, 600.0)):
        chosen = {"map_cycle": [race.file or f"seed:{race.seed}"], "metres": race.metres}
        one = BatchedRaces(1, seed=1, **chosen)
        one.reset()
        (by_hand,), _ = driven(one, Driver(one))
        line = f"{race.name:<20}{one.tracks.tracks[0]['metres']:>8.0f}{by_hand / 1000:>12.2f}"
        if options.seconds:
            rng = np.random.default_rng(options.seed)
            found, actions = search(one.map_of(0), chosen, options.seconds, options.population, rng)
            line += f"{found / 1000:>12.2f}"
            if options.save:
                options.save.mkdir(parents=True, exist_ok=True)
                path = options.save / f"{race.name}.json"
                path.write_text(json.dumps({"track": race.name, "race_time": found, "actions": actions}))
        print(line, flush=True)


if __name__ == "__main__":
    main()

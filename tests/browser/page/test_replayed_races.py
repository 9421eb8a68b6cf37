"""Replays of races: the track, the line by speed, inputs and values over time, and another run as a ghost."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from envs.racing.batch import BatchedRaces
from envs.racing.snapshots import ACTION_NAMES, scene, snapshot
from replay_pages import until
from replays.writer import ReplayWriter
from scripted_driver import Driver, Style

pytestmark = pytest.mark.slow

NAME = "900_0.jsonl"
# pixels at the bottom, where the legend has all colours
LEGEND = 32


def record(results, token, seed, cornering):
    """A race of the driver on a short track, with a Q-value of 2 t for what it does."""
    races = BatchedRaces(1, seed=1, map_cycle=[f"seed:{seed}"], metres=120.0)
    races.reset()
    driver = Driver(races, Style(cornering=cornering))
    header = {"env": "racing", "n_agents": 1, "n_actions": 12, "scene": scene(races)}
    header |= {"action_names": [list(ACTION_NAMES)], "algorithm": {"name": token}, "t_env": 900, "episode": 0}
    writer = ReplayWriter(results / "replays" / token, NAME.removesuffix(".jsonl"), header)
    while not races.state.race["ended"][0]:
        before, action, t = snapshot(races), driver.actions(), int(races.state.race["step"][0])
        out = races.step(action)
        values = [[2.0 * t if k == action[0, 0] else 0.0 for k in range(12)]]
        ends = {"terminated": bool(out.terminated[0]), "truncated": bool(out.truncated[0]), "info": {}}
        writer.step(
            before,
            actions=action[0].tolist(),
            avail_actions=[[1] * 12],
            q_values=values,
            reward=float(out.reward[0, 0]),
            **ends,
        )
    writer.end(snapshot(races), **ends)
    return results / "replays" / token / NAME


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for token, seed, cornering in (("fast", 3, 12.0), ("slow", 3, 5.0), ("elsewhere", 4, 12.0)):
        record(folder, token, seed, cornering)
    return folder


def opened(browser, page, **query):
    words = "&".join(f"{key}={value}" for key, value in {"run": "fast", "file": NAME, **query}.items())
    browser.get("about:blank")
    browser.get(f"{page}/replay?{words}")
    until(browser, "return document.querySelector('#replay')?.dataset.step !== undefined")


def drawn(browser, selector):
    """The pixels of a canvas, `[height, width, 4]`."""
    url = browser.execute_script("return document.querySelector(arguments[0]).toDataURL('image/png')", selector)
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
        return np.array(picture.convert("RGBA"))


def count(picture, colour):
    return int((np.abs(picture[..., :3].astype(int) - colour).max(axis=2) <= 6).sum())


def test_the_track_and_the_line_by_speed(browser, page, results):
    steps = [json.loads(line) for line in (results / "replays" / "fast" / NAME).read_text().splitlines()[1:-1]]
    opened(browser, page, step=len(steps) - 1)
    picture = drawn(browser, ".replay-picture")
    assert count(picture, (0xD9, 0xD6, 0xCD)) > 3000, "the road"
    script = "return MusterReplay.colourOfSpeed(arguments[0])"
    slow, fast = (browser.execute_script(script, share) for share in (0.0, 1.0))
    assert (slow, fast) == ("rgb(68,1,84)", "rgb(253,231,37)")
    speeds = [step["snapshot"]["units"][0]["speed"] for step in steps]
    assert max(speeds) > 15
    for speed in (speeds[len(speeds) // 3], max(speeds)):
        colour = browser.execute_script(script, speed / 50)
        assert count(picture[:-LEGEND], [int(part) for part in colour[4:-1].split(",")]) > 5


def test_inputs_and_values_over_time(browser, page, results):
    opened(browser, page, step=3)
    script = """const shown = Replay => Replay.lanesOf(window.raceFile, {agent: 0, ghost: null});
    window.raceFile = new MusterReplay.ReplayFile(document.querySelector('#replay').dataset.source);
    const done = arguments[0];
    window.raceFile.read().then(() => done(shown(MusterReplay)));"""
    lanes = {lane["name"]: lane for lane in browser.execute_async_script(script)}
    steps = [json.loads(line) for line in (results / "replays" / "fast" / NAME).read_text().splitlines()[1:-1]]
    assert list(lanes) == ["speed", "Q", "inputs"]
    assert lanes["Q"]["values"] == [*(2.0 * t for t in range(len(steps) - 1)), None]
    assert lanes["speed"]["values"] == [step["snapshot"]["units"][0]["speed"] for step in steps]
    rows = dict(lanes["inputs"]["rows"])
    actions = [step["actions"][0] for step in steps[:-1]]
    assert rows["accelerate"][:-1] == [action // 3 in (0, 3) for action in actions]
    assert rows["left"][:-1] == [action % 3 == 1 for action in actions]
    assert count(drawn(browser, ".replay-line"), (0x00, 0x72, 0xB2)) > 20


def test_another_run_on_the_track_is_a_ghost(browser, page, results):
    from selenium.webdriver.support.ui import Select

    opened(browser, page, step=60)
    select = Select(browser.find_element("css selector", "select[aria-label='Against']"))
    words = [option.text for option in select.options]
    assert words[0] == "no ghost" and len(words) == 2 and words[1].startswith("slow · 900 steps"), (
        "not that of elsewhere"
    )
    before, height = drawn(browser, ".replay-picture"), drawn(browser, ".replay-line").shape[0]
    select.select_by_index(1)
    until(browser, "return location.search.includes('ghost=slow/900_0.jsonl')")
    until(browser, f"return document.querySelector('.replay-line').height > {height}")
    assert (drawn(browser, ".replay-picture") != before).any(axis=2).sum() > 100
    opened(browser, page, step=60, ghost="slow/900_0.jsonl")
    until(browser, f"return document.querySelector('.replay-line').height > {height}")
    script = """const done = arguments[0];
    const read = source => { const file = new MusterReplay.ReplayFile(source); return file.read().then(() => file); };
    const element = document.querySelector('#replay');
    Promise.all([read(element.dataset.source), read(JSON.parse(element.dataset.ghosts)[0].source)]).then(
      ([file, ghost]) => done(MusterReplay.lanesOf(file, {agent: 0, ghost})));"""
    ahead = next(lane["values"] for lane in browser.execute_async_script(script) if lane["name"] == "ahead, m")
    own, other = (
        [
            json.loads(line)["snapshot"]["units"][0]["metres"]
            for line in (results / "replays" / token / NAME).read_text().splitlines()[1:-1]
        ]
        for token in ("fast", "slow")
    )
    assert ahead == pytest.approx([one - two for one, two in zip(own, other, strict=False)], abs=1e-3)
    assert ahead[-1] > 5


def test_the_picture_of_an_animation_has_the_track(results):
    from replays.frames import frames
    from replays.reader import read_replay

    picture = next(iter(frames(read_replay(results / "replays" / "fast" / NAME))))
    assert count(picture, (0x1F, 0x24, 0x30)) > 500

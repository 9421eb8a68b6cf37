"""A page over a results folder, and a browser to look at it with; for the browser's tests."""

import json
import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
# a window without tabs opens no page of Chromium's own, which would cost as much as the tests' first
QUIET = ("--disable-background-networking", "--disable-component-update", "--app=data:,")
# the ports of pages that have ended: a page at the same address finds its scripts in the browser, and compiled
_PORTS: list[int] = []


def write_replay(results, token, name, steps=4, footer=True, header=None, unit=None):
    """A replay of two agents and an enemy that walk east, a unit a step; returns its path.

    Args:
        header, unit: changes to the header, and to agent 0's unit.
    """
    head = {
        "type": "header",
        "format": "muster-replay",
        "version": 1,
        "env": "walk",
        "map": "walk",
        "seed": 1,
        "n_agents": 2,
        "n_actions": 3,
        "action_names": [["stay", "east", "hit"]] * 2,
        "scene": {"bounds": [0, 0, 10, 6], "grid": 1},
        "t_env": 100,
        "episode": 0,
        **(header or {}),
    }
    lines = [head]
    for t in range(steps + 1):
        units = [
            {"id": 0, "team": 0, "agent": 0, "label": "0", "kind": "walker", "x": 1 + t, "y": 4, **(unit or {})},
            {"id": 1, "team": 0, "agent": 1, "label": "1", "x": 1 + t, "y": 2, "health": 10 - t, "max_health": 10},
            {"id": 2, "team": 1, "label": "e0", "x": 9, "y": 3, "alive": t < 3},
        ]
        step = {"type": "step", "t": t, "snapshot": {"units": units, "links": [{"from": 0, "to": 2, "kind": "attack"}]}}
        if t < steps:
            step |= {"actions": [1, 2], "avail_actions": [[1, 1, 0], [0, 0, 1]], "policy": None, "q_tot": 2.5 - t}
            step |= {"q_values": [[-1.0, 4.0, 9.0], [0.25, 0.5, 0.75]], "reward": 1.0, "return": t + 1.0}
        lines.append(step | {"return": t + 1.0})
    if footer:
        lines.append({"type": "footer", "return": 4.0, "length": steps, "won": True, "truncated": False})
    path = Path(results) / "replays" / token / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@contextmanager
def page_over(results):
    """The page's address, while it is served; its cache lies beside the folder."""
    from browser.page.server.serving import find_or_start

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", f"{results}-cache")
        port, server = find_or_start(Path(results), _PORTS.pop() if _PORTS else 0)
    with running(server):
        yield f"http://127.0.0.1:{port}"
    _PORTS.append(port)


@contextmanager
def running(server):
    """A server of the page, served in a thread."""
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield
    finally:
        end(server)
        thread.join()


def end(server):
    """What Ctrl-C does to a server in the main thread."""
    from waitress import wasyncore

    server.trigger.pull_trigger(lambda: wasyncore.close_all(server._map))
    server.task_dispatcher.shutdown()


@contextmanager
def chromium(profile):
    """A new Chromium that keeps its console and network logs; without one the test is skipped."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    binary, driver_binary = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if not (binary and driver_binary):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (*CHROMIUM, *QUIET, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_binary))
    try:
        yield driver
    finally:
        driver.quit()


def as_new(driver, width=1300, height=950, still=False):
    """The browser as the next file of tests finds it: an empty window of that size, and empty logs.

    Args:
        still: for a user who wants no animations: without them, there are no 60 pictures a second to draw.
    """
    driver.get("about:blank")
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.set_window_size(width, height)
    look(driver, still=still)
    driver.get_log("browser")
    requested(driver)
    return driver


def look(driver, scheme="light", still=True):
    """What the user asks of all pages."""
    motion = "reduce" if still else "no-preference"
    features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", motion)]
    named = [{"name": name, "value": value} for name, value in features]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})


def until(driver, script, seconds=40):
    """What a script returns once that is true."""
    end = time.monotonic() + seconds
    while not (found := driver.execute_script(script)):
        assert time.monotonic() < end, script
        time.sleep(0.03)
    return found


def requested(driver):
    """The addresses that the browser has asked for since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

"""The replay view in Chromium: played, stepped, scrubbed and selected as a user does it."""

import json

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from replay_pages import requested, until, write_replay
from replays.reader import read_replay

pytestmark = pytest.mark.slow

PIXELS = "return document.querySelector(arguments[0]).toDataURL()"
PICTURE, LINE = ".replay-picture", ".replay-line"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture
def view(browser, page):
    """Opens a replay, waits for it, and checks at the end for errors and requests elsewhere."""
    browser.get_log("browser")
    requested(browser)

    def show(query, shown="#replay[data-step]"):
        browser.get(f"{page}/replay?{query}")
        until(browser, f"return document.querySelector('{shown}') !== null")

    yield show
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    inside = (page, "data:", "blob:", "chrome")  # chrome: and chrome-untrusted: are its new tab
    assert [url for url in requested(browser) if not url.startswith(inside)] == []


def step(browser):
    return int(browser.execute_script("return document.getElementById('replay').dataset.step"))


def press(browser, *keys):
    ActionChains(browser).send_keys(*keys).perform()


def wait_for_step(browser, t):
    until(browser, f"return document.getElementById('replay').dataset.step === '{t}'")


def wait_for_address(browser, part):
    WebDriverWait(browser, 5, 0.03).until(lambda driver: part in driver.current_url)


def click_at(browser, x, y):
    """Click on the picture, so many pixels right of its middle and below it."""
    canvas = browser.find_element("css selector", PICTURE)
    ActionChains(browser, duration=20).move_to_element_with_offset(canvas, int(x), int(y)).click().perform()


def picture_size(browser):
    size = browser.find_element("css selector", PICTURE).size
    return size["width"], size["height"]


def texts(browser, selector):
    return browser.execute_script(f"return [...document.querySelectorAll('{selector}')].map((e) => e.textContent)")


def test_a_recorded_battle(results, browser, view):
    settings = f"t_max=1 batch_size_run=1 save_replay=True test_nepisode=1 seed=5 local_results_path={results}"
    words = f"--config=qmix_fast --env-config=skirmish --unobserved with {settings} env_args.map_name=3m"
    run_experiment(parse_arguments(words.split()))
    (path,) = (results / "replays").rglob("*.jsonl")
    replay = read_replay(path)
    length = replay.footer["length"]
    view(f"run={path.parent.name}&file={path.name}")
    assert texts(browser, ".replay-count") == [f"step 0 of {length}"]
    first = browser.execute_script(PIXELS, PICTURE)

    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    wait_for_step(browser, 2)
    assert browser.execute_script(PIXELS, PICTURE) != first
    wait_for_address(browser, "step=2")
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
    wait_for_step(browser, 12)
    press(browser, Keys.ARROW_LEFT)
    wait_for_step(browser, 11)
    press(browser, Keys.HOME)
    wait_for_step(browser, 0)
    assert browser.execute_script(PIXELS, PICTURE) == first

    press(browser, Keys.ARROW_UP, Keys.ARROW_UP, Keys.SPACE)
    until(browser, "return Number(document.getElementById('replay').dataset.step) > 1")
    press(browser, Keys.SPACE)
    until(browser, "return document.getElementById('replay').dataset.playing === 'false'")
    wait_for_address(browser, "speed=4")
    assert f"step={step(browser)}&" in browser.current_url
    assert browser.execute_script(PIXELS, PICTURE) != first

    press(browser, "2")
    wait_for_address(browser, "agent=2")
    t = step(browser)
    names = replay.header["action_names"][2]
    assert texts(browser, ".bars li:not([hidden]) .name") == names
    assert texts(browser, ".bars .chosen .name") == [names[replay.steps[t]["actions"][2]]]
    legal = replay.steps[t]["avail_actions"][2]
    assert texts(browser, ".bars .illegal .name") == [names[i] for i, ok in enumerate(legal) if not ok]

    scrub(browser, 0.5)
    assert abs(step(browser) - length / 2) <= length / 20 + 1
    press(browser, Keys.END)
    wait_for_step(browser, length)
    assert f"return {replay.footer['return']:.4g}" in texts(browser, ".replay-status")[0]


def scrub(browser, share):
    """Drag on the time line to a share of its width, the names left of the lanes included."""
    line = browser.find_element("css selector", LINE)
    chain = ActionChains(browser, duration=20).move_to_element_with_offset(line, 150 - line.size["width"] // 2, 0)
    width = line.size["width"]
    chain.click_and_hold().move_by_offset(20, 0)
    chain.move_to_element_with_offset(line, int(130 + share * (width - 134)) - width // 2, 0).release().perform()


def test_the_address_says_what_is_shown(results, browser, view):
    write_replay(results, "walk", "100_0.jsonl")
    view("run=walk&step=2&agent=1&speed=0.5&trails=0&smooth=0")
    assert step(browser) == 2
    pressed = "[aria-pressed=true]"
    assert texts(browser, f".replay-agent{pressed} .kind") == ["agent 1"]
    assert texts(browser, f".replay-switch{pressed}") == ["actions", "fit"]
    assert browser.execute_script("return document.querySelector('.replay-speed').value") == "0.5"
    assert texts(browser, ".bars .name") == ["stay", "east", "hit"]
    assert texts(browser, ".bars .value") == ["0.25", "0.5", "0.75"]
    assert texts(browser, ".bars .words") == [" illegal", " illegal", " chosen"]
    assert texts(browser, ".replay-status") == ["Won · return 4 · 4 steps"]
    note = texts(browser, ".replay-choices .note")
    assert note == ["health 8 of 10 · Q-values of its actions"]
    press(browser, "t", Keys.HOME, Keys.ARROW_UP, "0")
    wait_for_address(browser, "smooth=0")
    WebDriverWait(browser, 5, 0.03).until(lambda driver: driver.current_url.endswith("/replay?run=walk&smooth=0"))


def test_the_picture_is_fitted_to_the_units_that_live(results, browser, view):
    write_replay(results, "walk", "100_0.jsonl", header={"scene": {"bounds": [0, 0, 40, 30]}})
    view("run=walk")
    width, height = picture_size(browser)
    # units from (1, 2) to (9, 4), of radius 0.5, and 1 around them; no closer than 9 to a side
    scale = min((width - 36) / 11, (height - 36) / 5, min(width, height) / 9)
    agent_1 = scale * (1 - 5), scale * (3 - 2)  # it is at (1, 2), the middle of all at (5, 3)
    click_at(browser, *agent_1)
    wait_for_address(browser, "agent=1")
    press(browser, "0", "f")
    wait_for_address(browser, "fit=0")
    click_at(browser, *agent_1)
    press(browser, "f")
    WebDriverWait(browser, 5, 0.03).until(lambda driver: driver.current_url.endswith("/replay?run=walk"))


def test_a_board_is_shown_whole(results, browser, view):
    write_replay(results, "walk", "100_0.jsonl", header={"scene": {"bounds": [0, 0, 40, 30], "grid": 1}})
    view("run=walk")
    width, height = picture_size(browser)
    scale = min((width - 36) / 40, (height - 36) / 30)
    click_at(browser, scale * (1 - 20), scale * (15 - 2))  # agent 1 is at (1, 2), the middle at (20, 15)
    wait_for_address(browser, "agent=1")


def test_agents_keep_their_names_when_nobody_acts_any_more_and_have_as_many_actions_as_names(results, browser, view):
    header = {"action_names": [["stay", "east"], ["stay", "east", "hit"]]}
    path = write_replay(results, "walk", "100_0.jsonl", header=header)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for unit in lines[-2]["snapshot"]["units"]:
        unit.pop("agent", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    view("run=walk&step=4")
    assert texts(browser, ".replay-agent .kind") == ["0 walker", "agent 1"]
    shown = ".replay-choices .bars li:not([hidden]) .name"
    for agent, names in enumerate(header["action_names"]):
        view(f"run=walk&step=1&agent={agent}")
        assert texts(browser, shown) == names


def test_with_the_mouse_on_the_picture_and_tab_on_the_keyboard(results, browser, view):
    write_replay(results, "walk", "100_0.jsonl")
    view("run=walk")
    width, height = picture_size(browser)
    scale = min((width - 36) / 10, (height - 36) / 6)  # of the world's 10 x 6, 18 pixels inside the canvas
    click_at(browser, scale * (1 - 5), scale * (3 - 2))  # agent 1 is at (1, 2), the middle at (5, 3)
    wait_for_address(browser, "agent=1")
    canvas = browser.find_element("css selector", PICTURE)
    canvas.send_keys(Keys.SHIFT, Keys.TAB)
    WebDriverWait(browser, 5, 0.03).until(lambda driver: "agent" not in driver.current_url)
    canvas.send_keys(Keys.TAB)
    wait_for_address(browser, "agent=1")
    canvas.send_keys(Keys.TAB)
    assert browser.execute_script("return document.activeElement.className") == "replay-first", "Tab is no trap"
    press(browser, "?")
    until(browser, "return document.querySelector('dialog').open")
    press(browser, Keys.ESCAPE)
    until(browser, "return !document.querySelector('dialog').open")


def test_text_stays_text(results, browser, view):
    bad = "<script>window.harm = 1</script><img src=x onerror='window.harm = 2'>"
    header = {"map": bad, "algorithm": {"name": bad}, "action_names": [[bad] * 3] * 2, "env": bad}
    write_replay(results, "hostile", "1_0.jsonl", header=header, unit={"label": bad, "kind": bad, "id": bad})
    view("run=hostile&agent=0")
    assert browser.execute_script("return window.harm") is None
    assert browser.execute_script("return document.querySelectorAll('#replay img, #replay script').length") == 0
    assert texts(browser, ".bars .name") == [bad] * 3
    assert bad in texts(browser, ".replay-title")[0]


def test_a_replay_that_is_being_written_is_followed(results, browser, view):
    """The last line is torn; its rest and the footer come later."""
    path = write_replay(results, "growing", "1_0.jsonl")
    whole = path.read_bytes()
    cut = whole.index(b'"t": 3') + 3
    path.write_bytes(whole[:cut])
    view("run=growing&step=3")
    assert texts(browser, ".replay-count") == ["step 2 of 2"]
    assert texts(browser, ".replay-status")[0].startswith("In progress or truncated")
    with open(path, "ab") as file:
        file.write(whole[cut:])
    until(browser, "return document.querySelector('.replay-count').textContent === 'step 3 of 4'")
    assert texts(browser, ".replay-status") == ["Won · return 4 · 4 steps"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"format": "other"}\n{}\n', "This file is not a replay"),
        (b'{"format": "muster-replay", "version": 2}\n', "version 2; this page reads versions up to 1"),
        (b'{"format": "muster-replay", "version": 1}\n{"type": "st\n{"type": "footer"}\n', "Line 2 is broken"),
    ],
)
def test_invalid_replays_are_reported(results, browser, view, body, said):
    write_replay(results, "odd", "1_0.jsonl").write_bytes(body)
    view("run=odd", ".replay-status.problem")
    assert said in texts(browser, ".replay-status")[0]


def test_reading_in_pieces_is_reading_at_once(results, browser, view):
    """Whatever the pieces, the page reads what the Python reader reads."""
    path = write_replay(results, "walk", "100_0.jsonl")
    view("run=walk")
    script = """
        const [text, size] = arguments, bytes = new TextEncoder().encode(text), file = new MusterReplay.ReplayFile("");
        for (let end = size; file._offset < bytes.length; end += size) file.add(bytes.subarray(file._offset, end));
        return [file.steps.map((step) => [step.t, step.return]), file.footer, file.problem];
    """
    replay = read_replay(path)
    expected = [[[entry["t"], entry["return"]] for entry in replay.steps], replay.footer, ""]
    for size in (1, 7, 100, 1000, 10**6):
        assert browser.execute_script(script, path.read_text(), size) == expected


def test_between_two_steps(browser, view, results):
    """A quarter of the way: positions and health are blended, and who dies fades."""
    write_replay(results, "walk", "100_0.jsonl")
    view("run=walk")
    steps = [
        {"units": [{"id": 1, "x": 0, "y": 8, "health": 10, "alive": True}, {"id": 2, "x": 4, "y": 4, "alive": True}]},
        {"units": [{"id": 1, "x": 4, "y": 0, "health": 2, "alive": True}, {"id": 2, "x": 4, "y": 4, "alive": False}]},
    ]
    steps = [{"snapshot": {"links": [], "texts": [], **step}} for step in steps]
    moment = browser.execute_script("return MusterReplay.momentAt(arguments[0], 0.25)", steps)
    one, two = moment["units"]
    assert (one["x"], one["y"], one["health"], one["alpha"]) == (1, 6, 8, 1)
    assert (two["x"], two["alive"], two["alpha"]) == (4, True, pytest.approx(1 - 0.7 / 4))
    end = browser.execute_script("return MusterReplay.momentAt(arguments[0], 1)", steps)
    assert [unit["alive"] for unit in end["units"]] == [True, False]
    assert json.dumps(end["links"]) == "[]"

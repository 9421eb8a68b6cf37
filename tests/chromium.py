"""A headless Chromium for tests, which tells what it requested and what its console said."""

import json
import os
import shutil
from pathlib import Path

import pytest

PROGRAM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

_SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1440,1000"
).split()


def start(folder):
    """A browser with its profile and downloads below `folder`; the test is skipped where there is none."""
    pytest.importorskip("selenium", reason="selenium is in requirements-dev.txt")
    if not (PROGRAM and DRIVER):
        pytest.skip("Chromium and its driver are not installed (apt-get install chromium chromium-driver)")
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = PROGRAM
    downloads = Path(folder) / "downloads"
    downloads.mkdir()
    for switch in [*_SWITCHES, f"--user-data-dir={Path(folder) / 'profile'}"]:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    from selenium import webdriver

    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env=dict(os.environ)))
    driver.set_window_size(1440, 1000)
    driver.get("about:blank")
    # its own first page is not ours
    requested(driver)
    return driver, downloads


def requested(driver):
    """Addresses that pages have asked for since this was last called."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    return [request["request"]["url"] for request in sent]


def console(driver):
    """What the console has said since this was last called, warnings and errors only."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]

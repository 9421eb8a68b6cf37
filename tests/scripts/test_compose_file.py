"""docker/compose.yml, as far as that can be told without Docker: pinned, private to this machine, and kept."""

import re
from pathlib import Path

import yaml

from records.sacred_mongo import DATABASE

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
SERVICES = COMPOSE["services"]
# the part of the Compose Specification that is used here
TOP_LEVEL = {"name": str, "services": dict, "volumes": dict}
SERVICE = {
    "image": str,
    "command": list,
    "ports": list,
    "volumes": list,
    "healthcheck": dict,
    "depends_on": dict,
    "restart": str,
}
HEALTHCHECK = {"test", "interval", "timeout", "retries", "start_period"}


def test_every_key_is_the_specifications_and_of_its_type():
    for key, value in COMPOSE.items():
        assert isinstance(value, TOP_LEVEL[key]), key
    for service in SERVICES.values():
        for key, value in service.items():
            assert isinstance(value, SERVICE[key]), key
        assert service["restart"] == "unless-stopped"
        assert all(isinstance(word, str) for word in service["command"])
    assert set(SERVICES) == {"mongo", "omniboard"}


def test_images_are_pinned_by_version():
    for service in SERVICES.values():
        assert re.fullmatch(r"[a-z/]+:\d+\.\d+\.\d+", service["image"])


def test_only_this_machine_can_connect():
    for service in SERVICES.values():
        for port in service["ports"]:
            assert re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port)


def test_records_are_kept_in_a_named_volume():
    (mount,) = SERVICES["mongo"]["volumes"]
    name, folder = mount.split(":")
    assert name in COMPOSE["volumes"]
    assert folder == "/data/db"


def test_the_page_waits_for_the_server_and_shows_our_database():
    check = SERVICES["mongo"]["healthcheck"]
    assert set(check) == HEALTHCHECK
    assert check["test"][0] == "CMD"
    assert all(re.fullmatch(r"\d+s", check[key]) for key in ("interval", "timeout", "start_period"))
    assert SERVICES["omniboard"]["depends_on"] == {"mongo": {"condition": "service_healthy"}}
    assert SERVICES["omniboard"]["command"] == ["-m", f"mongo:27017:{DATABASE}"]

"""The page for users of entity-gym: its script runs, its keys are all keys of enn-trainer, and its tests are there."""

import os
import re
import subprocess
import sys

from checkpoints.enn_checkpoints import PAGE as MODELS_AT
from standins import ROOT
from utils.config.enn_trainer_keys import KEYS
from utils.config.enn_trainer_keys import PAGE as KEYS_AT

TEXT = (ROOT / "docs" / "entity_gym.md").read_text()


def test_the_script_runs(tmp_path):
    (tmp_path / "script.py").write_text(re.search(r"^```python\n(.*?)^```", TEXT, re.M | re.S)[1])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "envs.entities.entity_gym", "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)
    assert done.stdout == "10 samples\n", done.stderr


def test_every_key_of_enn_trainer_has_a_row_and_what_stands_for_it():
    rows = dict.fromkeys(KEYS)
    for theirs, ours in re.findall(r"^\| (`[^|]*) \| ([^|]*) \| `tests/cli/test_enn_configs.py` \|$", TEXT, re.M):
        for key in re.findall(r"`([^`]*)`", theirs):
            rows[key] = ours
    assert set(rows) == {*KEYS, "config.ron"} and all(rows.values())
    for key, theirs in KEYS.items():
        if not theirs.ours:
            assert rows[key].startswith("none: refused"), key
        elif re.fullmatch(r"[a-z_.]+", theirs.ours) and not key.startswith(("net.", "vf_net.")):
            assert f"`{theirs.ours}`" in rows[key], key


def test_links_lead_to_a_section():
    links = [
        *re.findall(r"\]\(([^)#]*\.md)#([^)]*)\)", TEXT),
        *(("entity_gym.md", link.partition("#")[2]) for link in (KEYS_AT, MODELS_AT)),
    ]
    for page, anchor in links:
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(), re.M)
        assert anchor in [re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings], page

"""A machine to install StarCraft II on, on which every other program is a stand-in."""

import sys

from standins import Checkout

SIZE = 1000
LICENCE = "http://blzdistsc2-a.akamaihd.net/AI_AND_MACHINE_LEARNING_LICENSE.html"
SCRIPT = "install_sc2.sh"

# serves a file of SIZE bytes; CURL_STOPS_AT and CURL_CODE cut it short
CURL = f"""
case " $* " in
    *" --head "*)
        printf 'HTTP/1.1 302 Found\\r\\nContent-Length: 7\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n'
        [[ -n ${{CURL_NO_LENGTH:-}} ]] || printf 'content-length: {SIZE}\\r\\n'
        exit "${{CURL_HEAD_CODE:-0}}" ;;
esac
while [[ $1 != --output ]]; do shift; done
have=0; [[ ! -f $2 ]] || have=$(wc -c <"$2")
head -c "$((${{CURL_STOPS_AT:-{SIZE}}} - have))" /dev/zero >>"$2"
exit "${{CURL_CODE:-0}}"
"""

# unpacks a game into the folder after -d, or part of it
UNZIP = """
while [[ $1 != -d ]]; do shift; done
mkdir -p "$2/StarCraftII/Versions/Base75689" "$2/StarCraftII/Maps"
[[ -z ${UNZIP_TERM:-} ]] || kill -TERM "$PPID"
[[ -n ${UNZIP_NO_BINARY:-} ]] || echo game >"$2/StarCraftII/Versions/Base75689/SC2_x64"
exit "${UNZIP_CODE:-0}"
"""

# at "checkout" the folder gets what the scripts need of the repository
GIT = """
[[ $3 != fetch ]] || exit "${GIT_CODE:-0}"
[[ " $* " == *" checkout "* ]] || exit 0
for package in smac smacv2; do
    [[ $2 == */$package-* ]] || continue
    maps=$2/$package/env/starcraft2/maps/SMAC_Maps
    mkdir -p "$maps"
    for map in 3m 8m 32x32_flat; do [[ $package$map == smac32* ]] || echo "$package $map" >"$maps/$map.SC2Map"; done
done
"""

# a Python that sees no packages but those in $SITE, and a pip that puts them there
PYTHON = f"""
PYTHONPATH=$SITE exec "{sys.executable}" -B -S "$@"
"""
PIP = """
import json, os, sys
from pathlib import Path

site = Path(os.environ["SITE"])
with open(site / "pip_calls", "a") as calls:
    print(json.dumps(sys.argv[1:]), file=calls)
if os.environ.get("PIP_CODE"):
    sys.exit(int(os.environ["PIP_CODE"]))
words = sys.argv[1:]
pins = [line.split("#")[0].strip() for line in open(words[words.index("-r") + 1])]
folders = [Path(word) for word in words if Path(word).is_dir()]
wanted = [(*pin.split("=="), None) for pin in pins if pin]
wanted += [(folder.name.split("-")[0], "1.0.0", folder.as_uri()) for folder in folders]
for name, version, url in wanted:
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    if url:
        (info / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {}}))
        (site / name / "env").mkdir(parents=True)
        source = os.environ.get("PIP_SOURCE", "StarCraft2Env = StarCraftCapabilityEnvWrapper = 1")
        (site / name / "env" / "__init__.py").write_text(source)
"""


class Machine(Checkout):
    """A checkout with everything that install_sc2.sh calls."""

    def __init__(self, folder):
        super().__init__(folder, SCRIPT, "requirements-sc2.txt")
        self.game = self.root / "3rdparty" / "StarCraftII"
        self.archive = self.root / "3rdparty" / "SC2.4.10.zip.partial"
        self.maps = self.game / "Maps" / "SMAC_Maps"
        self.site = folder / "site"
        (self.site / "pip").mkdir(parents=True)
        (self.site / "pip" / "__main__.py").write_text(PIP)
        self.env["SITE"] = str(self.site)
        for name, body in {"curl": CURL, "unzip": UNZIP, "git": GIT}.items():
            self.stand_in(name, body)
        python = self.root / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/bash" + PYTHON)
        python.chmod(0o755)

    def install(self, *words, **env):
        return self.run(SCRIPT, "--accept-eula", *words, **env)

    def pip_calls(self):
        path = self.site / "pip_calls"
        return path.read_text().splitlines() if path.exists() else []

    def half_done(self):
        """The remains of an interrupted step; an unfinished archive may stay."""
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*.partial")}
        found |= {str(path.relative_to(self.root)) for path in self.root.rglob("*.unpacking")}
        return found - {str(self.archive.relative_to(self.root))}

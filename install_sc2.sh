#!/usr/bin/env bash
# StarCraft II, the maps of SMAC and SMACv2, and their Python packages: see `bash install_sc2.sh --help`.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LICENCE=http://blzdistsc2-a.akamaihd.net/AI_AND_MACHINE_LEARNING_LICENSE.html
SMAC_COMMIT=d6aab33f76abc3849c50463a8592a84f59a5ef84
SMACV2_COMMIT=577ab5a2cff2391f8df582da5731ea9cd6adf3c6
SMAC_SOURCE=$ROOT/3rdparty/smac-$SMAC_COMMIT
SMACV2_SOURCE=$ROOT/3rdparty/smacv2-$SMACV2_COMMIT

version=4.10
parts="game maps packages"
python=$ROOT/.venv/bin/python
accepted=false
dry_run=false
# where Blizzard's own installer puts the game, and what starts it
blizzards=
binary=SC2_x64
leftovers=()

usage() {
    cat <<END
usage: bash install_sc2.sh --accept-eula [options]

Installs the parts of --env-config=sc2: the game StarCraft II for Linux, the maps of SMAC and SMACv2, and the Python
packages smac and smacv2. Keeps installed parts, and resumes interrupted downloads.

  --accept-eula     You accept Blizzard's AI and Machine Learning License, which the game comes under:
                    $LICENCE
  --version V       The version of the game (default: 4.10). SMAC's authors published results on 4.6.2.
  --maps-only       Only the maps, for an installed game.
  --packages-only   Only the Python packages.
  --no-packages     Only the game and the maps: the container has its own packages.
  --python PYTHON   Install the packages for this Python (default: .venv/bin/python).
  --dry-run         Print the steps, and do nothing.
  --help            Print this page.

The game goes into 3rdparty/StarCraftII, or into the folder in the environment variable SC2PATH. On macOS and Windows
Blizzard's Battle.net app installs the game; the maps then go into its usual folder, if SC2PATH names no other.
END
}

say() { printf '%s\n' "$*"; }

# fail STEP MESSAGE: every failure names the step, the only one to look at.
fail() {
    printf 'install_sc2.sh: %s: %s\n' "$1" "$2" >&2
    exit 1
}

refuse() {
    printf 'install_sc2.sh: %s See: bash install_sc2.sh --help\n' "$*" >&2
    exit 2
}

# Unfinished parts are removed, however the script ends; only a partial download is worth keeping.
clean_up() { ((${#leftovers[@]} == 0)) || rm -rf "${leftovers[@]}"; }
trap clean_up EXIT

choose_parts() {
    [[ $parts == "game maps packages" || $parts == "$1" ]] ||
        refuse "--maps-only, --packages-only and --no-packages exclude each other."
    parts=$1
}

read_arguments() {
    while (($#)); do
        case $1 in
            --help | -h) usage && exit 0 ;;
            --accept-eula) accepted=true ;;
            --dry-run) dry_run=true ;;
            --maps-only) choose_parts maps ;;
            --packages-only) choose_parts packages ;;
            --no-packages) choose_parts "game maps" ;;
            --version=* | --python=*)
                set -- "${1%%=*}" "${1#*=}" "${@:2}"
                continue
                ;;
            --version | --python)
                [[ -n ${2:-} ]] || refuse "$1 needs a value."
                if [[ $1 == --version ]]; then version=$2; else python=$2; fi
                shift
                ;;
            *) refuse "There is no option '$1'." ;;
        esac
        shift
    done
    [[ $version =~ ^[0-9]+(\.[0-9]+)+$ ]] || refuse "A version looks like 4.10, not like '$version'."
}

# SC2PATH is where smac looks, too; a ~ that a configuration file passes on literally is meant as the home folder.
choose_folder() {
    usual=$ROOT/3rdparty/StarCraftII
    case $OSTYPE in
        darwin*) blizzards="/Applications/StarCraft II" binary=SC2.app/Contents/MacOS/SC2 ;;
        cygwin*) blizzards="/cygdrive/c/Program Files (x86)/StarCraft II" binary=SC2_x64.exe ;;
        msys*) blizzards="/c/Program Files (x86)/StarCraft II" binary=SC2_x64.exe ;;
    esac
    [[ -z $blizzards || -d $usual ]] || usual=$blizzards
    SC2PATH=${SC2PATH:-$usual}
    SC2PATH=${SC2PATH/#\~/$HOME}
    SC2PATH=${SC2PATH%/}
    [[ $SC2PATH == /* ]] || SC2PATH=$PWD/$SC2PATH
}

need() {
    command -v "$2" >/dev/null || fail "$1" "the program $2 is needed and was not found. Install it and run this again."
}

bytes_of() { if [[ -f $1 ]]; then wc -c <"$1" | tr -d ' '; else echo 0; fi; }

# Blizzard's file names do not all follow from the version.
archive_name() {
    case $1 in
        4.1.2) echo SC2.4.1.2.60604_2018_05_16.zip ;;
        4.6 | 4.6.0) echo SC2.4.6.0.67926.zip ;;
        4.6.1) echo SC2.4.6.1.68195.zip ;;
        4.6.2) echo SC2.4.6.2.69232.zip ;;
        4.7) echo SC2.AStar.4.7.zip ;;
        *) echo "SC2.$1.zip" ;;
    esac
}

has_game() { compgen -G "$1/Versions/Base*/$binary" >/dev/null; }

has_content() { [[ -e $1 && -n $(ls -A "$1") ]]; }

# Two versions in one folder would be mixed up: smac starts the newest it finds.
check_installed_version() {
    local there
    there=$(cat "$SC2PATH/.installed-version" 2>/dev/null || true)
    if [[ -z $there ]]; then
        say "StarCraft II is already in $SC2PATH; its version is not known, because this script did not install it."
    elif [[ $there == "$version" ]]; then
        say "StarCraft II $version is already in $SC2PATH."
    else
        fail game "$SC2PATH holds version $there, not $version. Set SC2PATH to another folder for it."
    fi
}

# The Content-Length of the last answer, after any redirection; nothing when the server does not say.
remote_size() {
    curl --silent --show-error --fail --location --head "$1" | tr -d '\r' |
        awk '/^HTTP\// { size = "" } tolower($1) == "content-length:" { size = $2 } END { print size }'
}

download_game() {
    local url=$1 file=$2 size have progress=--no-progress-meter
    [[ ! -t 2 ]] || progress=--progress-bar
    size=$(remote_size "$url") || fail download "$url cannot be had. Is there a network, and a version $version?"
    if [[ -n $size ]] && (($(bytes_of "$file") > size)); then
        say "The download of before is larger than the server's file; it starts from the beginning."
        rm -f "$file"
    fi
    if [[ -z $size ]] || (($(bytes_of "$file") < size)); then
        curl --fail --location --retry 3 "$progress" --continue-at - --output "$file" "$url" ||
            fail download "it stopped at $(bytes_of "$file") of ${size:-unknown} bytes. Run this again to continue it."
    fi
    have=$(bytes_of "$file")
    if [[ -n $size ]] && ((have != size)); then
        ((have < size)) || rm -f "$file"
        fail download "$have bytes have come of the $size that the server announced. Run this again to continue."
    fi
}

# The archive unpacks beside the place it is meant for: only a whole game gets the name it is looked for under.
unpack_game() {
    local file=$1 beside=$SC2PATH.unpacking code=0
    leftovers+=("$beside")
    rm -rf "$beside"
    mkdir "$beside"
    unzip -q -P iagreetotheeula "$file" -d "$beside" || code=$? # 1 is a warning: all was unpacked
    if ((code == 50)); then
        fail unpack "the disk is full. Make room and run this again; the download is kept."
    elif ((code > 1)); then
        rm -f "$file"
        fail unpack "unzip ended with code $code. The archive is damaged and was removed; run this again to fetch it."
    fi
    if ! has_game "$beside/StarCraftII"; then
        rm -f "$file"
        fail unpack "the archive holds no StarCraftII/Versions/Base*/SC2_x64, so it is not the game; it was removed."
    fi
    chmod +x "$beside"/StarCraftII/Versions/Base*/SC2_x64
    say "$version" >"$beside/StarCraftII/.installed-version"
    [[ ! -d $SC2PATH ]] || rmdir "$SC2PATH"
    mv "$beside/StarCraftII" "$SC2PATH"
    rm -f "$file"
}

install_game() {
    local name url file
    name=$(archive_name "$version")
    url=https://blzdistsc2-a.akamaihd.net/Linux/$name
    file=$(dirname "$SC2PATH")/$name.partial
    if has_game "$SC2PATH"; then
        check_installed_version
        return
    fi
    if [[ -n $blizzards ]]; then
        fail game "Blizzard's archives are for Linux. Install the game with its Battle.net app, start it once, and run this with --maps-only."
    fi
    if has_content "$SC2PATH"; then
        fail game "$SC2PATH exists, but holds no game. Move it away, or set SC2PATH to another folder."
    fi
    if $dry_run; then
        say "Would download $url to $file, or resume a partial download, and unpack it to $SC2PATH."
        return
    fi
    need game curl
    need game unzip
    mkdir -p "$(dirname "$SC2PATH")" || fail game "the folder of $SC2PATH cannot be made."
    say "Downloading StarCraft II $version, some gigabytes, from $url"
    download_game "$url" "$file"
    say "Unpacking it"
    unpack_game "$file"
    say "StarCraft II $version is in $SC2PATH."
}

# fetch_source REPOSITORY COMMIT FOLDER: the commit's hash vouches for the content, the folder for its completeness.
fetch_source() {
    local url=https://github.com/oxwhirl/$1 partial=$3.partial
    [[ ! -d $3 ]] || return 0
    need "source of $1" git
    leftovers+=("$partial")
    rm -rf "$partial"
    mkdir -p "$partial" || fail "source of $1" "$partial cannot be made."
    say "Fetching $url at $2"
    if ! {
        git -C "$partial" init --quiet &&
            git -C "$partial" fetch --quiet --depth 1 "$url" "$2" &&
            git -C "$partial" -c advice.detachedHead=false checkout --quiet FETCH_HEAD
    }; then
        fail "source of $1" "git could not fetch commit $2 from $url. Is there a network?"
    fi
    mv "$partial" "$3"
}

fetch_sources() {
    fetch_source smac "$SMAC_COMMIT" "$SMAC_SOURCE"
    fetch_source smacv2 "$SMACV2_COMMIT" "$SMACV2_SOURCE"
}

# SMACv2's repository repeats SMAC's maps; this one is all that its scenarios are played on.
map_files() {
    printf '%s\n' "$SMAC_SOURCE"/smac/env/starcraft2/maps/SMAC_Maps/*.SC2Map \
        "$SMACV2_SOURCE/smacv2/env/starcraft2/maps/SMAC_Maps/32x32_flat.SC2Map"
}

maps_are_there() {
    local map
    [[ -d $SMAC_SOURCE && -d $SMACV2_SOURCE ]] || return 1
    while read -r map; do
        cmp -s "$map" "$SC2PATH/Maps/SMAC_Maps/${map##*/}" || return 1
    done < <(map_files)
}

# All maps are copied beside the folder and then renamed into it: no map is ever incomplete.
install_maps() {
    local target=$SC2PATH/Maps/SMAC_Maps staging=$SC2PATH/Maps/SMAC_Maps.partial map count=0
    if maps_are_there; then
        say "The maps are already in $target."
        return
    fi
    if $dry_run; then
        say "Would copy the maps of oxwhirl/smac at $SMAC_COMMIT, and 32x32_flat of oxwhirl/smacv2" \
            "at $SMACV2_COMMIT, to $target."
        return
    fi
    has_game "$SC2PATH" || fail maps "there is no StarCraft II in $SC2PATH. Install it, or set SC2PATH to its folder."
    fetch_sources
    leftovers+=("$staging")
    rm -rf "$staging"
    mkdir -p "$staging" || fail maps "$staging cannot be made."
    while read -r map; do
        cp "$map" "$staging/" || fail maps "${map##*/} could not be copied to $SC2PATH/Maps."
        count=$((count + 1))
    done < <(map_files)
    mkdir -p "$target"
    mv -f "$staging"/*.SC2Map "$target/" || fail maps "the maps could not be moved to $target."
    say "$count maps are in $target."
}

# Exact versions, and for smac and smacv2 the commit, which pip records as the folder that they came from.
packages_are_there() {
    "$python" - "$ROOT/requirements-sc2.txt" "smac=$SMAC_SOURCE" "smacv2=$SMACV2_SOURCE" <<'END'
import sys
from importlib.metadata import PackageNotFoundError, distribution

lines = [line.split("#")[0].strip() for line in open(sys.argv[1])]
try:
    for name, version in (line.split("==") for line in lines if line):
        if distribution(name).version != version:
            sys.exit(1)
    for name, source in (pair.split("=", 1) for pair in sys.argv[2:]):
        if source.rsplit("/", 1)[-1] not in (distribution(name).read_text("direct_url.json") or ""):
            sys.exit(1)
except PackageNotFoundError:
    sys.exit(1)
END
}

# Seen from a program's side: another project's "smac" has no smac.env. Protobuf's C parser refuses s2clientprotocol,
# and the two packages register maps of the same names; hence the variable, and a process for each.
check_imports() {
    local statement
    for statement in "from smac.env import StarCraft2Env" "from smacv2.env import StarCraftCapabilityEnvWrapper"; do
        PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python "$python" -P -c "$statement" ||
            fail packages "they are installed, but '$statement' fails with $python; see its last line above."
    done
}

install_packages() {
    if [[ ! -x $(command -v "$python") ]]; then
        $dry_run || fail packages "there is no Python at $python. Run 'make train' or 'make test' first, or name one with --python."
    elif packages_are_there; then
        say "The Python packages are already installed for $python."
        return
    fi
    if $dry_run; then
        say "Would install requirements-sc2.txt, smac and smacv2 for $python, without their dependencies."
        return
    fi
    fetch_sources
    say "Installing the Python packages for $python"
    # --no-deps: smac and pysc2 declare a protobuf that TensorBoard cannot use, and many packages that they never import
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps \
        -r "$ROOT/requirements-sc2.txt" "$SMAC_SOURCE" "$SMACV2_SOURCE" ||
        fail packages "pip could not install them; its message is above."
    check_imports
    say "The Python packages are installed for $python."
}

explain_licence() {
    cat >&2 <<END
StarCraft II comes under Blizzard's AI and Machine Learning License:
  $LICENCE
Read it. If you accept it, run this script again with --accept-eula. Nothing was downloaded.
END
    exit 2
}

main() {
    read_arguments "$@"
    choose_folder
    if [[ $parts == *game* && -z $blizzards ]] && ! $accepted && ! $dry_run && ! has_game "$SC2PATH"; then
        explain_licence
    fi
    local part
    for part in $parts; do
        "install_$part"
    done
    if [[ $parts == *game* ]] && ! $dry_run; then
        say "Done. To see it work: ./muster --config=qmix_smac --env-config=sc2 with env_args.map_name=3m"
        [[ $SC2PATH == "$usual" ]] || say "Before a run: export SC2PATH=$SC2PATH"
    fi
}

main "$@"

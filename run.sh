#!/usr/bin/env bash
# A command in the container: see `bash run.sh --help`.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

usage() {
    cat <<END
usage: bash run.sh GPU COMMAND...

Runs a command in the container that docker/build.sh builds, in this checkout and as you: its files are yours.

  GPU   the number of a GPU, several as 0,1, or all; cpu for none

  bash run.sh 0 ./muster --config=qmix_smac --env-config=sc2 with env_args.map_name=2s3z
  bash run.sh cpu ./muster --config=qmix_smac --env-config=skirmish

StarCraft II is taken from the environment variable SC2PATH, or from 3rdparty/StarCraftII. MUSTER_IMAGE names another image
than muster:gpu or muster:cpu. The exit code is that of the command.
END
}

refuse() {
    printf 'run.sh: %s See: bash run.sh --help\n' "$*" >&2
    exit 2
}

# muster_<user>_<gpu>_<time>_<process>: shows in `docker ps` its user and its device, and is unique.
container_name() {
    local user name
    user=$(id -un 2>/dev/null) || user=$(id -u)
    name=muster_${user}_${1}_$(date +%m%d-%H%M%S)_$$
    printf '%s\n' "${name//[^a-zA-Z0-9_.-]/-}"
}

# The game is in the checkout, which is mounted anyhow, or elsewhere, perhaps behind a link: then it gets its own mount.
find_game() {
    local game=${SC2PATH:-$ROOT/3rdparty/StarCraftII}
    if [[ -d $game ]]; then
        game=$(cd "$game" && pwd -P)
        case $game in
            "$ROOT"/*) options+=(--env "SC2PATH=/muster/${game#"$ROOT"/}") ;;
            *) options+=(--mount "type=bind,source=$game,target=/StarCraftII" --env SC2PATH=/StarCraftII) ;;
        esac
    elif [[ -n ${SC2PATH:-} ]]; then
        refuse "SC2PATH is $SC2PATH, which is not a folder."
    fi
}

main() {
    case ${1:-} in
        --help | -h) usage && exit 0 ;;
    esac
    (($# >= 2)) || refuse "A GPU (or cpu) and a command are needed."
    local gpu=$1 image name
    shift
    # a checkpoint of a large replay buffer takes longer than the ten seconds that docker stop waits
    options=(--rm --init --stop-timeout 120)
    case $gpu in
        cpu) image=muster:cpu name=$(container_name cpu) ;;
        all) image=muster:gpu name=$(container_name gpus) && options+=(--gpus all) ;;
        *)
            [[ $gpu =~ ^[0-9]+(,[0-9]+)*$ ]] || refuse "The first word is the number of a GPU or cpu, not '$gpu'."
            image=muster:gpu name=$(container_name "gpu$gpu")
            # docker reads this option as comma-separated values: the quotes keep several numbers together
            options+=(--gpus "\"device=$gpu\"")
            ;;
    esac
    image=${MUSTER_IMAGE:-$image}
    find_game
    command -v docker >/dev/null || refuse "The program docker was not found."
    docker image inspect "$image" >/dev/null || refuse "Docker cannot use the image $image; see its message above. docker/build.sh builds it."
    # a terminal is passed on where there is one; a script or a log file has none, and -t would fail there
    if [[ -t 0 && -t 1 ]]; then options+=(--interactive --tty); fi
    echo "Container $name (to stop it: docker stop $name)" >&2
    # compiled Skirmish is kept in the checkout, because the container's home folder goes away with it
    exec docker run "${options[@]}" --name "$name" --user "$(id -u):$(id -g)" \
        --mount "type=bind,source=$ROOT,target=/muster" --workdir /muster \
        --env XDG_CACHE_HOME=/muster/.cache --env OMP_NUM_THREADS --env MUSTER_PYTHON=python3 \
        "$image" "$@"
}

main "$@"

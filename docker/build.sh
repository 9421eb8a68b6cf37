#!/usr/bin/env bash
# The image that run.sh runs commands in: see `bash docker/build.sh --help`.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
    cat <<END
usage: bash docker/build.sh gpu|cpu [options of docker build]

Builds muster:gpu or muster:cpu, which hold Python, PyTorch and everything else that a run needs, but not StarCraft II.

The environment variable TORCH_INDEX names the package index that PyTorch is installed from. Without it, that is pip's usual
one, where PyTorch for Linux comes with CUDA: some gigabytes more than a CPU needs, but it runs there. PyTorch's
installation page (pytorch.org, "Get Started") names the index for CPU builds and for other CUDA versions.
END
}

refuse() {
    printf 'docker/build.sh: %s See: bash docker/build.sh --help\n' "$*" >&2
    exit 2
}

main() {
    case ${1:-} in
        --help | -h) usage && exit 0 ;;
        gpu | cpu) ;;
        "") refuse "Choose a target: gpu or cpu." ;;
        *) refuse "It builds for gpu or cpu, not for '$1'." ;;
    esac
    local variant=$1
    shift
    command -v docker >/dev/null || refuse "The program docker was not found."
    if [[ $variant == cpu && -z ${TORCH_INDEX:-} ]]; then
        echo "TORCH_INDEX is not set: the image gets pip's usual PyTorch, which is larger but runs on a CPU, too." >&2
    fi
    exec docker build --file "$ROOT/docker/Dockerfile" --tag "muster:$variant" \
        --build-arg "TORCH_INDEX=${TORCH_INDEX:-}" "$@" "$ROOT"
}

main "$@"

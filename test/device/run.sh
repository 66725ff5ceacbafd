#!/bin/bash
# shellcheck disable=SC2317 # parts are called by their names
# What scripts/gpu-test packed, on a machine with a GPU: run [launches|kernels|conformance|operators|models|graphs|sanitize|bench [OPTION...]]
cd "$(dirname "$0")" || exit 2
packed=$PWD
here=${TCC_GPU_FOLDER:-/tmp/tcc-gpu-$(cksum < content.tar.xz | cut -d' ' -f1)}
if [ ! -e "$here/done" ]; then
  mkdir -p "$here"
  python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2])' content.tar.xz "$here" || exit 2
  touch "$here/done"
fi
cd "$here" || exit 2
scripts=$packed/test
export TCC_BIN=$here/bin TCC_CACHE_DIR=$here/cache
PATH=$PATH:/usr/local/cuda/bin:$here/bin
command -v ptxas > /dev/null ||
  PATH=$PATH:$(python3 -c 'import pathlib, triton; print(pathlib.Path(triton.__file__).parent / "backends/nvidia/bin")')
export PATH
arch=sm_$(python3 -c 'import torch; a, b = torch.cuda.get_device_capability(); print(f"{a}{b}" + ("a" if a >= 9 else ""))')
status=0

launches() { # kernels against the reference interpreter, then timed
  for set in launches wgmma wgmma_tile wgmma_attention bench; do
    timeout 300 bin/run-launches "$set" || status=1
  done
}
kernels() { python3 "$scripts/bench/gpu_kernels.py" bench --json "${OUT:-$packed}/kernels.json" "$@" || status=1; }
conformance() { # all of ONNX's backend cases: those that pass on the CPU
  bin/conformance-onnx --data data --document docs/conformance-onnx.md --arch "$arch" --jobs 8 -v "$@" |
    { grep --line-buffered -v '^refused' || true; }
  [ "${PIPESTATUS[0]}" = 0 ] || status=1
}
operators() { # samples of PyTorch's operators, against PyTorch on the CPU
  python3 "$scripts/models/aten_sweep.py" --flags "--arch $arch" --dtypes float32,bfloat16,int64 --samples 2 "$@" || status=1
}
models() { python3 "$scripts/device/gpu_models.py" "$@" || status=1; }
graphs() { python3 "$scripts/device/gpu_graphs.py" || status=1; }
sanitize() {
  command -v compute-sanitizer > /dev/null || { echo "no compute-sanitizer on this machine"; return; }
  for set in launches wgmma wgmma_tile wgmma_attention; do
    for tool in memcheck racecheck synccheck; do
      echo "$set, $tool:"
      timeout 200 compute-sanitizer --tool "$tool" --error-exitcode 9 bin/run-launches "$set" | tail -2
      [ "${PIPESTATUS[0]}" = 0 ] || status=1
    done
  done
}
bench() { python3 "$scripts/bench/gpu.py" --json "${OUT:-$packed}/gpu.json" "$@" || status=1; }

if [ $# -gt 0 ]; then
  "$@"
else
  for part in launches kernels conformance operators models graphs sanitize bench; do
    echo "== $part"
    $part
  done
fi
exit $status

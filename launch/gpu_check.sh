#!/usr/bin/env bash
# Builds the NCCL transport and tests it on the GPU of this machine, which several ranks share.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TXT'
usage: launch/gpu_check.sh [--build-only]

On a machine with an NVIDIA GPU, nvcc and NCCL: builds the nccl preset, runs the transport tests
with 1, 2 and 4 processes on one GPU, moves experts between 2 processes with shuffle-check, and
measures the kernels against a device copy. Exit status 0: all passed; 77: nothing was tested,
since there is no GPU here.

NCCL allows one rank a host and GPU, so each rank says that it is a host of its own, and all talk
over sockets. Times of the exchange mean nothing in this arrangement; those of the kernels do.

  --build-only  compile, on any machine with nvcc and NCCL
  --help        this text
TXT
}

build_only=0
case ${1:-} in
  "") ;;
  --build-only) build_only=1 ;;
  --help | -h) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

has_gpu() {
  [[ -e /dev/nvidia0 ]] && return 0
  command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'
}

if ((!build_only)) && ! has_gpu; then
  say "NOT CHECKED: no NVIDIA GPU on this machine"
  exit 77
fi
[[ -d /usr/local/cuda/bin ]] && PATH=$PATH:/usr/local/cuda/bin
build_preset nccl
((build_only)) && exit 0

set_mpi_environment
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export NCCL_NET=Socket NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_MNNVL_ENABLE=0 NCCL_NVLS_ENABLE=0
export NCCL_MAX_CTAS=4 NCCL_MAX_P2P_NCHANNELS=2
bin=$root/build/nccl/bin

# RANKS PROGRAM ARGUMENT…: every rank with a host id of its own.
on_one_gpu() {
  local ranks=$1
  shift
  # shellcheck disable=SC2016  # expanded by each rank
  timeout -k 10 300 mpirun -n "$ranks" bash -c 'NCCL_HOSTID=routepack-$OMPI_COMM_WORLD_RANK exec "$@"' _ "$@"
}

failed=0
check() { # NAME COMMAND…
  local name=$1 output
  shift
  say "$name"
  output=$(mktemp)
  if "$@" >"$output" 2>&1 && ! grep -q 'cannot use NCCL' "$output"; then
    printf 'passed\n'
  else
    failed=$((failed + 1))
    tail -n 60 "$output"
    printf 'FAILED: %s\n' "$name"
  fi
  grep -E 'tests ran|GB/s|verdict' "$output" || true
  rm -f "$output"
}

command -v nvidia-smi >/dev/null && nvidia-smi -L
for ranks in 1 2 4; do
  check "libraries, $ranks ranks" on_one_gpu "$ranks" "$bin/nccl_real_test"
  check "transport and kernels, $ranks ranks" on_one_gpu "$ranks" "$bin/nccl_device_test"
done
move=(shuffle-check --layers 2 --experts 16 --hidden 256 --ffn 128 --round-bytes 1048576 --repeat 4)
check "shuffle-check over NCCL, 2 ranks" on_one_gpu 2 "$bin/routepack" "${move[@]}" --ep 2 --transport nccl
check "shuffle-check over NCCL, EP 2 x EDP 2" on_one_gpu 4 "$bin/routepack" "${move[@]}" --ep 2 --edp 2 --transport nccl
check "kernels against a device copy" "$bin/shuffle_kernels_bench"

if ((failed)); then
  say "$failed checks FAILED"
  exit 1
fi
say "all checks passed"

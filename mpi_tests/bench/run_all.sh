#!/bin/bash
# Builds the release preset with its benchmarks in a folder of its own and prints every benchmark.
#   usage: mpi_tests/bench/run_all.sh [--quick] [WINDOWS...]
# --quick   seconds instead of minutes: fewer repetitions, windows and seeds
# WINDOWS   folder:dp:ep:capacity for population_bench, gap_bench and planted_bench; default: a
#           window that `routepack synth` makes, so that the command needs no data. BENCH_BUILD
#           names another build folder, JOBS the compile jobs.
set -euo pipefail
cd "$(dirname "$0")/../.."

quick=0
windows=()
for argument in "$@"; do
  case "$argument" in
    --quick) quick=1 ;;
    --help | -h) sed -n 2,8p "$0"; exit 0 ;;
    *:*:*:*) windows+=("$argument") ;;
    *) echo "run_all.sh: '$argument' is neither --quick nor folder:dp:ep:capacity" >&2; exit 2 ;;
  esac
done
build=${BENCH_BUILD:-build/bench}
bin=$build/bin

source launch/common.sh
set_mpi_environment

benches=(evaluate_bench block_placement_bench population_bench sequence_bench gap_bench planted_bench)
cmake --preset release -B "$build" -DROUTEPACK_BUILD_BENCH=ON -DROUTEPACK_BUILD_TESTS=OFF >&2
cmake --build "$build" -j "${JOBS:-2}" --target "${benches[@]}" routepack_program >&2

if ((quick)); then
  google=(--benchmark_min_time=0.05)
  seeds=3 seconds=0.3 sweeps=50 ranks=(1 2)
  sequences=(--case gpt-oss-20b deepseek-v2-lite --drift 0 0.2 --limit 0 0.1 1 --seeds 1 --sweeps 100)
else
  google=()
  seeds=10 seconds=1 sweeps=500 ranks=(1 2 4)
  sequences=()
fi

title() { printf '\n## %s\n' "$*"; }

title machine
date -u +%F
grep -m1 'model name' /proc/cpuinfo || uname -m
echo "cores: $(nproc)   load: $(cut -d' ' -f1-3 /proc/loadavg)"

for bench in evaluate_bench block_placement_bench; do
  title "$bench"
  "$bin/$bench" "${google[@]}"
done
title "sequence_bench ${sequences[*]} on 2 ranks"
mpirun -n 2 "$bin/sequence_bench" "${sequences[@]}"

if ((${#windows[@]} == 0)); then
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  "$bin/routepack" synth --preset qwen3-30b-a3b --prompts 64 --rollouts 8 --length-median 2000 \
    --out "$made/window" >&2
  windows=("$made/window:16:8:8192")
fi
for window in "${windows[@]}"; do
  IFS=: read -r folder dp ep capacity <<<"$window"
  title "gap_bench $(basename "$folder"), $sweeps sweeps"
  "$bin/gap_bench" "$folder" "$dp" "$ep" "$capacity" "$sweeps"
  title "planted_bench $(basename "$folder"), $sweeps sweeps"
  "$bin/planted_bench" "$folder" "$dp" "$ep" "$capacity" "$sweeps"
  for n in "${ranks[@]}"; do
    title "population_bench $(basename "$folder") on $n ranks, $seconds s, $seeds seeds"
    mpirun -n "$n" "$bin/population_bench" "$folder" "$dp" "$ep" "$capacity" "$seconds" "$seeds"
  done
done

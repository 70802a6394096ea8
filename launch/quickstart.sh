#!/usr/bin/env bash
# From a fresh machine to a plan: installs, builds, makes a synthetic window and plans it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TXT'
usage: launch/quickstart.sh [--ranks N]

1. installs missing packages with apt-get (launch/install_dependencies.sh; root or sudo)
2. builds the program (release preset, build/release)
3. makes a synthetic window of Ling-3.0-Tiny, 64 prompts with 8 rollouts, in build/quickstart
4. plans it on N MPI ranks and prints the table of the three policies

Can be run again at any time, from any folder.

  --ranks N    MPI ranks of the planner (default 4)
  --help       this text
TXT
}

ranks=4
while (($#)); do
  case $1 in
    --ranks)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
      ranks=$2
      shift 2
      ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

"$root/launch/install_dependencies.sh"
build_preset release routepack_program
set_mpi_environment
program=$root/build/release/bin/routepack
work=$root/build/quickstart
mkdir -p "$work"

say "making a synthetic window in $work/window"
mpirun -n "$ranks" "$program" synth --preset ling-3.0-tiny --seed 1 --out "$work/window"

say "planning it on $ranks MPI ranks: 8 DP slots, 8 EP ranks, rows of 8192 tokens"
mpirun -n "$ranks" "$program" plan "$work/window" --dp 8 --ep 8 --capacity 8192 \
  --model ling-3.0-tiny --seed 1 --out "$work/plan.json"
say "the plan is in $work/plan.json"

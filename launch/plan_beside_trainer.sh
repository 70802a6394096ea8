#!/usr/bin/env bash
# Plans on this host while a trainer runs on it, from inside or outside of the trainer's own job.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TXT'
usage: launch/plan_beside_trainer.sh [--ranks N] [--threads N] WINDOW PLAN_OPTIONS…

Runs `routepack plan WINDOW PLAN_OPTIONS…` under an mpirun of its own at low priority, e.g. while the
next rollouts are generated. It takes none of the trainer's MPI, PMIx and Slurm settings, so it
may be called from a process that mpirun, srun or torchrun started.

  --ranks N    MPI ranks (default 4)
  --threads N  threads of a rank (default: the host's cores divided by the ranks)
  --help       this text

example: launch/plan_beside_trainer.sh --ranks 8 step_12/window --dp 16 --ep 8 --capacity 8192 \
           --model ling-3.0-flash --time-limit 5 --out step_12/plan.json
TXT
}

ranks=4
threads=
while (($#)); do
  case $1 in
    --ranks | --threads)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    --help | -h) usage; exit 0 ;;
    *) break ;;
  esac
done
(($#)) || { usage >&2; exit 2; }

program=${ROUTEPACK:-$root/build/release/bin/routepack}
[[ -x $program ]] || program=$(command -v routepack) || {
  echo "there is no $root/build/release/bin/routepack: build it, or set ROUTEPACK to the program" >&2
  exit 1
}

# Left in place, these would make mpirun join the trainer's job or its allocation.
while read -r name; do
  unset "$name"
done < <(compgen -e | grep -E '^(OMPI_|PMIX_|PRTE_|PMI_|HYDRA_|MPI_LOCAL|SLURM_)' || true)
unset OMP_NUM_THREADS # torchrun sets 1
[[ -z $threads ]] || export OMP_NUM_THREADS=$threads
set_mpi_environment
exec nice -n 10 mpirun -n "$ranks" "$program" plan "$@"

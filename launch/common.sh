# shellcheck shell=bash
# Sourced by the scripts: where the project is, how to build it, how to run mpirun.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '==> %s\n' "$*"; }

# build_preset PRESET [TARGETS…]: compiles a preset (release, debug, asan, …) into build/PRESET.
build_preset() {
  local preset=$1
  shift
  local targets=("${@:-all}")
  # g++ of Ubuntu 22.04 is 11; its package g++-12, which install_dependencies.sh installs, will do.
  if [[ -z ${CXX:-} ]] && command -v g++ >/dev/null && (($(g++ -dumpversion | cut -d. -f1) < 12)) && command -v g++-12 >/dev/null; then
    export CXX=g++-12
  fi
  if [[ ! -f $root/build/$preset/CMakeCache.txt ]] && command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=Ninja # an existing build folder keeps the generator that it has
  fi
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  fi
  say "building $preset in $root/build/$preset"
  (cd "$root" && cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" --target "${targets[@]}" -j "$(nproc)")
}

# Settings of Open MPI for a single machine that may have fewer cores than ranks. CTest has its own
# in cmake/RoutePackTest.cmake.
set_mpi_environment() {
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_hwloc_base_binding_policy=none
  # The same for Open MPI 5, whose mpirun is PRRTE's.
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
  # Where ranks times threads are more than the cores, threads that spin keep the others waiting.
  export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}

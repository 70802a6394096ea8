#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TXT'
usage: launch/test.sh [--debug | --asan] [-- CTEST_OPTIONS…]

Installs missing packages with apt-get, builds the release preset and runs every test, those on
several MPI ranks included. Ends with CTest's summary; exit status 0 if all tests pass.

  --debug      the debug preset instead: all assertions
  --asan       the asan preset instead: AddressSanitizer and UndefinedBehaviorSanitizer
  -- …         options for ctest, e.g. -- -L packing, or -- -R arrows
  --help       this text
TXT
}

preset=release
options=()
while (($#)); do
  case $1 in
    --debug | --asan) preset=${1#--}; shift ;;
    --help | -h) usage; exit 0 ;;
    --) shift; options=("$@"); break ;;
    *) usage >&2; exit 2 ;;
  esac
done

"$root/launch/install_dependencies.sh"
build_preset "$preset"
set_mpi_environment
say "running the tests of $preset"
cd "$root"
ctest --preset "$preset" -j "$(nproc)" "${options[@]}"

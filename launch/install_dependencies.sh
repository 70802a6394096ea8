#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that RoutePack needs and that are not there yet.
set -euo pipefail

usage() {
  cat <<'TXT'
usage: launch/install_dependencies.sh [--check] [--developer]

Installs with apt-get what RoutePack needs to build, run and test: a C++20 compiler, CMake, Ninja,
Open MPI, Boost.Program_options, fmt, nlohmann-json, Random123, xxHash, GoogleTest and Python 3.
Does nothing where everything is there. Needs root or sudo, but only if something is missing.

  --check      only say what is missing; exit status 1 if something is
  --developer  also what continuous integration uses: clang and its runtime libraries, clang-format, ccache, NumPy
  --help       this text
TXT
}

check_only=0
packages=(
  g++ make cmake ninja-build
  libopenmpi-dev openmpi-bin
  libboost-program-options-dev libfmt-dev nlohmann-json3-dev librandom123-dev libxxhash-dev
  libgtest-dev libgmock-dev python3
)
where_known=() # not every distribution has these
for argument in "$@"; do
  case $argument in
    --check) check_only=1 ;;
    --developer)
      packages+=(clang libomp-dev clang-format clang-tidy ccache python3-numpy)
      where_known+=(libclang-rt-dev) # sanitizers and libFuzzer; older distributions ship them with clang
      ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "This system has no apt-get. Install these packages, or what they are called here, by hand:" >&2
  echo "  ${packages[*]}" >&2
  exit 1
fi

# Ubuntu 22.04: g++ is version 11, too old.
if [[ -r /etc/os-release ]] && (. /etc/os-release && [[ ${ID:-} == ubuntu && ${VERSION_ID:-} == 22.04 ]]); then
  packages+=(g++-12)
fi

command -v ip >/dev/null || echo "==> optional: there is no ip here (package iproute2); launch/multinode_test.sh needs it"

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
find_missing() {
  local package
  missing=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  for package in "${where_known[@]}"; do
    is_installed "$package" || ! apt-cache show "$package" >/dev/null 2>&1 || missing+=("$package")
  done
}
find_missing
if ((${#missing[@]} == 0)); then
  echo "==> all ${#packages[@]} packages are installed"
  exit 0
fi
echo "==> missing packages: ${missing[*]}"
((check_only)) && exit 1

if ((EUID == 0)); then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "These packages must be installed by root, and there is no sudo here. Have somebody run:" >&2
  echo "  apt-get update && apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "==> installing them with apt-get"
"${as_root[@]}" apt-get update -qq
find_missing # now that apt knows what there is
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"

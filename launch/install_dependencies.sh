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
  --developer  also what continuous integration uses: clang, clang-format, ccache, NumPy
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
for argument in "$@"; do
  case $argument in
    --check) check_only=1 ;;
    --developer) packages+=(clang libomp-dev clang-format ccache python3-numpy) ;;
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

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
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
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"

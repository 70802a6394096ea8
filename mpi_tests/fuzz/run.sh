#!/usr/bin/env bash
# Builds the fuzzers with clang in build/fuzz and runs each for some seconds from its corpus.
set -euo pipefail
usage() {
  cat <<'TXT'
usage: mpi_tests/fuzz/run.sh [SECONDS [TARGET…]]

Runs each fuzzer, or those named, for SECONDS (default 10), always from the same start: its corpus
(mpi_tests/fuzz/corpus/TARGET) and a fixed seed. Ends with status 1 where one found something; the
inputs then lie in build/fuzz/findings, and belong into the corpus once they are dealt with. What
else the runs came upon lies in build/fuzz/found/TARGET. Status 77: there is no clang with libFuzzer.
TXT
}
case ${1:-} in --help | -h) usage; exit 0 ;; esac
seconds=${1:-10}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
shift || true
targets=("$@")
((${#targets[@]})) || targets=(npy window routes plan placement options)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for target in "${targets[@]}"; do
  [[ -d mpi_tests/fuzz/corpus/$target ]] || { echo "there is no fuzzer '$target'" >&2; exit 2; }
done

scratch=$(mktemp -d) # where the fuzzers put their files
trap 'rm -rf "$scratch"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' >"$scratch/try.cpp"
if ! clang++ -fsanitize=fuzzer,address "$scratch/try.cpp" -o "$scratch/try" 2>"$scratch/why"; then
  echo "there is no clang++ with libFuzzer here (launch/install_dependencies.sh --developer):"
  tail -n 2 "$scratch/why"
  exit 77
fi

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
# No build type: the fuzzers bring their own flags.
cmake -S . -B build/fuzz "${generator[@]}" "${launcher[@]}" -DCMAKE_CXX_COMPILER=clang++ \
  -DROUTEPACK_BUILD_PROGRAM=ON -DROUTEPACK_BUILD_TESTS=OFF -DROUTEPACK_BUILD_FUZZERS=ON \
  -DROUTEPACK_ASSERT_LEVEL=heavy >/dev/null
cmake --build build/fuzz --parallel "${ROUTEPACK_JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}"

found=0
for target in "${targets[@]}"; do
  rm -rf "build/fuzz/found/$target"
  mkdir -p "build/fuzz/found/$target" build/fuzz/findings
  status=0
  TMPDIR=$scratch UBSAN_OPTIONS=print_stacktrace=1 "build/fuzz/bin/fuzz_$target" \
    -seed=1 -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 \
    -dict="mpi_tests/fuzz/dictionary.txt" -artifact_prefix="build/fuzz/findings/$target-" \
    "build/fuzz/found/$target" "mpi_tests/fuzz/corpus/$target" \
    >"build/fuzz/$target.log" 2>&1 </dev/null || status=$?
  if ((status)); then
    found=1
    echo "fuzz_$target: FOUND SOMETHING (status $status):"
    tail -n 60 "build/fuzz/$target.log"
  else
    printf 'fuzz_%s: %s\n' "$target" "$(grep -o 'Done [0-9]* runs.*' "build/fuzz/$target.log" || tail -n 1 "build/fuzz/$target.log")"
  fi
done
exit $found

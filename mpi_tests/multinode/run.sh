#!/usr/bin/env bash
# Runs the planner and the shuffle over 2 and 3 hosts on one machine: network namespaces with their
# own host names, joined by a bridge, over clean, slow and cut links. Uses only addresses inside
# namespaces of its own, which vanish with it. Started as launch/multinode_test.sh.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../../launch/common.sh"

usage() {
  cat <<'TXT'
usage: launch/multinode_test.sh [--program FILE]

Starts 2 and 3 hosts on this machine and checks across them, over TCP between hosts:
  - every host is seen as a node of its own, and every byte of a shuffle arrives
  - a plan has the same digest as without MPI
  - a damaged transfer is rolled back on all hosts; a dead rank ends the job
  - the same shuffle and plan over links of 20 ms +- 5 ms delay and 1 % loss
  - a link cut in the middle of a shuffle: the deadline fires, weights stay intact, no hang
Takes about two minutes, longer on a busy machine. Exit status 0: all hold; 1: one does not; 77: cannot run here (needs root
or unprivileged user namespaces, Linux namespaces, ip of iproute2, and Open MPI 4.1).

  --program FILE  the program to test (default: build/release/bin/routepack)
  --help          this text
TXT
}

program=$root/build/release/bin/routepack
work='' # set inside the namespaces
while (($#)); do
  case $1 in
    --program) [[ -n ${2:-} ]] || { usage >&2; exit 2; }; program=$2; shift 2 ;;
    --inside) work=$2; shift 2 ;; # of this script's own call
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

skip() {
  printf '\n*** SKIPPED, NOT CHECKED: %s: %s\n\n' "the multi-node test" "$*" >&2
  exit 77
}

# Runs this script again in fresh network, mount and process namespaces. When their first process
# ends, for whatever reason, the kernel ends all others, and the networks go with them.
enter_namespaces() {
  local tool
  for tool in unshare setpriv ip mpirun timeout; do
    command -v "$tool" >/dev/null || skip "there is no $tool here (ip: package iproute2; others: launch/install_dependencies.sh)"
  done
  [[ -x $program ]] || { echo "there is no program $program: build it first, or name it with --program" >&2; exit 1; }
  program=$(realpath "$program")
  [[ $(mpirun --version) == *'Open MPI) 4.'* ]] || skip "mpirun is not Open MPI 4, whose settings this script uses"
  local spaces=(setpriv --pdeathsig KILL unshare --net --mount --pid --fork --kill-child --mount-proc)
  ((EUID == 0)) || spaces+=(--user --map-root-user)
  local refusal
  refusal=$("${spaces[@]}" bash -c 'mount -t tmpfs none /run && ip link add rp-a type veth peer name rp-b' 2>&1) \
    || skip "no namespaces with a network of their own (${refusal:-CAP_SYS_ADMIN and CAP_NET_ADMIN are needed})"
  local folder child='' status=0
  folder=$(mktemp -d)
  # A signal ends `wait` below; the first process in the namespaces dies with unshare.
  trap 'kill -KILL "$child" 2>/dev/null; rm -rf "$folder"' EXIT
  trap 'exit 130' INT TERM HUP
  "${spaces[@]}" bash "$here/run.sh" --program "$program" --inside "$folder" &
  child=$!
  wait "$child" || status=$?
  exit "$status"
}

# ---- inside the namespaces ----
subnet=10.77.0
ranks_per_host=2
failures=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$*"
  sed 's/^/  | /' "$work/out" | tail -n 40
}

# Hosts rp1 … rp3 on a bridge; mpirun runs outside of them, at .254. (A host that has the address of
# mpirun's own would be started without the agent, in no namespace.)
make_hosts() {
  # A private /run: ip keeps the names of namespaces in it.
  mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up \
    && ip link add rp-bridge type bridge && ip address add "$subnet.254/24" dev rp-bridge \
    && ip link set rp-bridge up || return 1
  local host
  for host in 1 2 3; do
    ip netns add "rp$host" && ip link add "rp-link$host" type veth peer name eth0 netns "rp$host" \
      && ip link set "rp-link$host" master rp-bridge up \
      && ip -n "rp$host" link set lo up && ip -n "rp$host" address add "$subnet.$host/24" dev eth0 \
      && ip -n "rp$host" link set eth0 up || return 1
  done
  # In place of ssh: options first, then the address, then the command.
  cat >"$work/agent" <<'TXT'
#!/usr/bin/env bash
while [[ $1 == -* ]]; do shift; done
host=rp${1##*.}
shift
exec ip netns exec "$host" unshare --uts bash -c "hostname $host; $*"
TXT
  chmod +x "$work/agent"
}

kill_hosts() {
  local host
  for host in 1 2 3; do
    ip netns pids "rp$host" | xargs -r kill -KILL 2>/dev/null
  done
  rm -rf "$work"/ompi.*
}

# Runs a command on so many hosts with $ranks_per_host ranks each, output in $work/out. Ranks go to the
# hosts in turn, so that EP peers are on different ones.
on_hosts() { # HOSTS SECONDS COMMAND…
  local hosts=$1 seconds=$2 list='' host status=0
  shift 2
  for ((host = 1; host <= hosts; ++host)); do list+=,$subnet.$host:$ranks_per_host; done
  timeout -s KILL "$seconds" mpirun --mca plm rsh --mca plm_rsh_agent "$work/agent" --mca plm_rsh_no_tree_spawn 1 \
    --mca pml ob1 --mca btl tcp,self,vader --mca btl_vader_single_copy_mechanism none \
    --mca btl_tcp_if_include "$subnet.0/24" --mca oob_tcp_if_include "$subnet.0/24" --mca oob_tcp_disable_ipv6_family 1 \
    --map-by node --host "${list#,}" -n $((ranks_per_host * hosts)) "$@" >"$work/out" 2>&1 </dev/null || status=$?
  kill_hosts
  return "$status"
}

shuffle_options() { # HOSTS
  echo shuffle-check --ep "$1" --edp "$ranks_per_host" --layers 2 --experts $((6 * $1)) --hidden 48 --ffn 20 --round-bytes 20000 --seed 5
}

# Over links of any quality: the shuffle is right and the plan is the single-host one.
check_hosts() { # HOSTS LINKS SECONDS
  local hosts=$1 links=$2 seconds=$3 began=$SECONDS
  # shellcheck disable=SC2046
  on_hosts "$hosts" "$seconds" "$program" $(shuffle_options "$hosts") --deadline "$seconds" \
    || fail "$hosts hosts, $links links: shuffle-check ended with status $?"
  grep -q 'verdict: ok' "$work/out" || fail "$hosts hosts, $links links: the shuffle is not right"
  grep -q "on $hosts nodes" "$work/out" || fail "$hosts hosts, $links links: not seen as $hosts nodes"
  on_hosts "$hosts" "$seconds" "$program" "${plan[@]}" --out "$work/plan$hosts.json" \
    || fail "$hosts hosts, $links links: plan ended with status $?"
  [[ -n $digest && $(digest_of "$work/plan$hosts.json") == "$digest" ]] \
    || fail "$hosts hosts, $links links: plan digest $(digest_of "$work/plan$hosts.json") instead of $digest"
  rm -f "$work/plan$hosts.json"
  say "$hosts hosts, $links links: shuffle and plan checked in $((SECONDS - began)) s"
}

digest_of() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1" 2>/dev/null; }

check_faults() { # HOSTS
  local hosts=$1 status=0
  # shellcheck disable=SC2046
  on_hosts "$hosts" 60 "$program" $(shuffle_options "$hosts") --deadline 10 --fault flip@1 || status=$?
  [[ $status == 4 ]] || fail "$hosts hosts, damaged transfer: status $status instead of 4"
  grep -q 'unchanged on all ranks' "$work/out" || fail "$hosts hosts, damaged transfer: no word that nothing has changed"
  status=0
  # shellcheck disable=SC2046
  on_hosts "$hosts" 60 "$program" $(shuffle_options "$hosts") --deadline 10 --fault die@1 || status=$?
  [[ $status != 0 ]] || fail "$hosts hosts, dead rank: status 0"
  ((status != 137)) || grep -q 'signal 9' "$work/out" || fail "$hosts hosts, dead rank: the job hung"
  say "$hosts hosts: damaged transfer and dead rank checked"
}

sent_to() { awk -v name="rp-link$1:" '$1 == name { print $10 }' /proc/net/dev; } # bytes, towards a host

# Cuts the last host off while shuffles go back and forth, and judges by what the others say: their
# mpirun waits for the lost host for as long as the link is down.
check_cut() { # HOSTS
  local hosts=$1 deadline=2 began=$SECONDS status=0 runner
  : >"$work/out"
  on_hosts "$hosts" 90 "$program" shuffle-check --ep "$hosts" --edp 2 --layers 4 --experts $((4 * hosts)) \
    --hidden 256 --ffn 128 --round-bytes 65536 --repeat 1000000 --deadline "$deadline" &
  runner=$!
  wait_for 30 traffic_reaches "$hosts" 40000000 || fail "$hosts hosts, cut link: no shuffle is under way"
  ip link set "rp-link$hosts" down
  # A round's deadline, an agreement of twice that, and as much again for a loaded machine.
  wait_for $((6 * deadline)) grep -q 'gives up.*no agreement within' "$work/out" \
    || fail "$hosts hosts, cut link: no deadline has fired after $((6 * deadline)) s"
  ip link set "rp-link$hosts" up # mpirun now hears of its lost host, and that host's ranks are heard
  wait "$runner" || status=$?
  [[ $status != 0 ]] || fail "$hosts hosts, cut link: status 0"
  grep -q 'the weights of rank [0-9]* are' "$work/out" || fail "$hosts hosts, cut link: no survivor speaks of its weights"
  ! grep -q 'neither old nor new' "$work/out" || fail "$hosts hosts, cut link: torn weights"
  say "$hosts hosts, link cut in mid-shuffle: $(grep -c 'the weights of rank [0-9]* are' "$work/out") ranks report their weights intact, status $status, $((SECONDS - began)) s"
}

traffic_reaches() { (($(sent_to "$1") > $2)); } # HOST BYTES

wait_for() { # SECONDS CONDITION…
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || return 1
    sleep 0.1
  done
}

# From now on every host delays and loses what it sends. Kernels without netem get a second network,
# on a switch of our own that does the same.
slow_links() {
  local host
  if tc qdisc add dev rp-link1 root netem delay 1ms 2>"$work/out"; then
    tc qdisc delete dev rp-link1 root
    for host in 1 2 3; do
      ip netns exec "rp$host" tc qdisc add dev eth0 root netem delay 20ms 5ms loss 1% || return 1
    done
    say "tc netem slows the links"
    return
  fi
  say "no tc netem here ($(tail -n 1 "$work/out")): slow_switch.py slows the links instead"
  python3 "$here/slow_switch.py" rp-slow1 rp-slow2 rp-slow3 rp-slow254 >"$work/out" 2>&1 &
  wait_for 10 grep -q ready "$work/out" || return 1
  subnet=10.78.0
  for host in 1 2 3; do
    ip link set "rp-slow$host" netns "rp$host" && ip -n "rp$host" address add "$subnet.$host/24" dev "rp-slow$host" \
      && ip -n "rp$host" link set "rp-slow$host" up || return 1
  done
  ip address add "$subnet.254/24" dev rp-slow254 && ip link set rp-slow254 up
}

# Milliseconds from host 1 to host 2 and back, the least of five: how long a refused connection takes.
round_trip() {
  # shellcheck disable=SC2016
  ip netns exec rp1 bash -c '
    for _ in 1 2 3 4 5; do
      began=${EPOCHREALTIME/[.,]/}
      : 2>/dev/null <"/dev/tcp/$0/9"
      echo $(((${EPOCHREALTIME/[.,]/} - began) / 1000))
    done' "$subnet.2" 2>/dev/null | sort -n | head -n 1
}

run_checks() {
  export TMPDIR=$work
  set_mpi_environment
  : >"$work/out"
  make_hosts >"$work/out" 2>&1 || { cat "$work/out" >&2; skip "hosts could not be set up"; }
  "$program" synth --preset ling-3.0-tiny --samples 32 --length-median 200 --length-max 1500 --seed 3 --out "$work/window" >"$work/out" 2>&1 \
    || fail "synth"
  plan=(plan "$work/window" --dp 4 --ep 4 --capacity 3000 --alpha 1 --beta 0.5 --seed 1 --sweeps 20 --chains 4 --threads 1)
  "$program" "${plan[@]}" --out "$work/plan.json" >"$work/out" 2>&1 || fail "plan without MPI"
  digest=$(digest_of "$work/plan.json")
  local hosts
  for hosts in 2 3; do
    check_hosts "$hosts" clean 60
    check_faults "$hosts"
    check_cut "$hosts"
  done
  if slow_links; then
    local slow
    slow=$(round_trip)
    ((slow >= 30)) || fail "slow links: $slow ms there and back, expected 30 or more"
    say "links are slow: $slow ms from host 1 to host 2 and back"
    ranks_per_host=1 # a plan is hundreds of collectives, and each waits for the slowest packet
    for hosts in 2 3; do check_hosts "$hosts" slow 120; done
  else
    printf '\n*** SKIPPED, NOT CHECKED: slow and lossy links: %s\n\n' "$(tail -n 1 "$work/out")" >&2
  fi
  ((failures == 0)) || { say "$failures checks failed"; exit 1; }
  say "the multi-node test passed in $SECONDS s"
}

if [[ -n $work ]]; then run_checks; else enter_namespaces; fi

#!/usr/bin/env bash
# Runs the planner and the shuffle over 2 and 3 hosts on one machine; --help says what is checked.
exec "$(dirname "${BASH_SOURCE[0]}")/../mpi_tests/multinode/run.sh" "$@"

#!/usr/bin/env python3
"""check_arrows.py must find each kind of violation, and nothing in a tree that has none."""
import unittest

import check_arrows
import tree_check


def faults_of(files):
    count, faults = tree_check.check_files(check_arrows.check, files)
    assert count == len(files)
    return faults


class CheckArrows(unittest.TestCase):
    def accept(self, path, text):
        self.assertEqual(faults_of({path: text}), [])

    def refuse(self, path, text, part):
        faults = faults_of({path: text})
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(part, faults[0])
        self.assertTrue(faults[0].startswith(path), faults[0])

    def test_downward_arrows_are_fine(self):
        self.accept("src/domain/cost.cpp", '#include "routepack/cost.hpp"\n#include <cmath>\n#include "base/check.hpp"\n')
        self.accept("src/annealing/chain.cpp", '#include "objective/evaluation.hpp"\n#include "random/stream.hpp"\n')
        self.accept("include/routepack/plan.hpp", '#include "routepack/cost.hpp"\n#include <vector>\n')
        self.accept("src/cli/main.cpp", '#include <mpi.h>\n#include "planner/planner.hpp"\n')

    def test_upward_arrows_are_faults(self):
        self.refuse("src/base/log.cpp", '#include "domain/cost.hpp"\n', "base may not use domain")
        self.refuse("src/domain/a.hpp", '\n #  include "io/npy.hpp"\n', "domain may not use io")
        self.refuse("src/packing/a.cpp", '#include "objective/cost.hpp"\n', "packing may not use objective")
        self.refuse("src/planner/a.cpp", '#include "cli/command.hpp"\n', "planner may not use cli")
        self.refuse("src/planner/a.cpp", '#include "synth/options.hpp"\n', "planner may not use synth")

    def test_exceptions_hold_for_their_files_only(self):
        self.accept("src/placement/aggregate/place_experts.cpp", '#include "comm/collectives.hpp"\n')
        self.refuse("src/io/npy.cpp", '#include "random/stream.hpp"\n', "io may not use random")
        self.accept("src/annealing/exchange.cpp", '#include "comm/collectives.hpp"\n')
        self.refuse("src/annealing/chain.cpp", '#include "comm/collectives.hpp"\n', "annealing may not use comm")

    def test_foreign_headers_are_confined(self):
        self.refuse("src/packing/a.cpp", "#include <mpi.h>\n", "mpi.h")
        self.refuse("src/io/json.hpp", "#include <nlohmann/json.hpp>\n", "nlohmann")
        self.refuse("src/demand/a.cpp", "#include <nlohmann/json.hpp>\n", "nlohmann")
        self.accept("src/io/json.cpp", "#include <nlohmann/json.hpp>\n")
        self.refuse("src/domain/a.cpp", "#include <boost/program_options.hpp>\n", "boost")
        self.accept("src/cli/a.cpp", "#include <boost/program_options.hpp>\n")
        self.refuse("src/shuffle/plan/rounds.cpp", "#include <cuda_runtime.h>\n", "cuda_runtime.h")
        self.refuse("src/comm/a.cpp", "#include <nccl.h>\n", "nccl.h")
        self.accept("src/shuffle/transport/nccl_transport.cpp", "#include <nccl.h>\n#include <cuda_runtime.h>\n")
        self.accept("src/shuffle/engine/kernels.cu", "#include <cuda_runtime.h>\n")

        self.refuse("src/shuffle/transport/nccl_transport.cpp", "#include <mpi.h>\n", "mpi.h")
        self.refuse("src/shuffle/engine/a.hpp", "#include <cuda_runtime.h>\n", "cuda_runtime.h")

    def test_rooms_have_arrows_too(self):
        self.accept("src/shuffle/transport/a.cpp", '#include "shuffle/engine/copy_engine.hpp"\n')
        self.accept("src/shuffle/transport/a.cpp", '#include "shuffle/transport/transport.hpp"\n')
        self.accept("src/shuffle/apply.cpp", '#include "shuffle/plan/rounds.hpp"\n')
        self.accept("src/shuffle/apply.cpp", '#include "shuffle/staging.hpp"\n')
        self.accept("src/cli/a.cpp", '#include "shuffle/check/fault_transport.hpp"\n')
        self.refuse("src/shuffle/plan/a.cpp", '#include "shuffle/transport/a.hpp"\n', "shuffle/plan may not use transport")
        self.refuse("src/shuffle/apply.cpp", '#include "shuffle/check/a.hpp"\n', "shuffle may not use check")
        self.refuse("src/shuffle/plan/a.cpp", '#include "shuffle/staging.hpp"\n', "files outside of rooms")
        self.refuse("src/shuffle/misc/a.cpp", '#include "shuffle/staging.hpp"\n', "misc is no room")

    def test_public_headers_use_no_module(self):
        self.refuse("include/routepack/plan.hpp", '#include "domain/model.hpp"\n', "public header")

    def test_unknown_modules_and_relative_headers_are_faults(self):
        self.refuse("src/common/util.hpp", "#include <vector>\n", "no module")
        self.refuse("src/base/a.cpp", '#include "log.hpp"\n', "name headers from src/")


if __name__ == "__main__":
    unittest.main()

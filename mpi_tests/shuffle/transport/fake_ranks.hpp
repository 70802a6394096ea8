// Ranks as threads on a FakeFabric, each with an NCCL transport.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "shuffle/transport/fake_nccl.hpp"
#include "shuffle/transport/loopback.hpp"
#include "shuffle/transport/nccl_transport.hpp"

namespace routepack::testing {

inline shuffle::NcclOptions quick_options() {
  shuffle::NcclOptions options;
  options.setup_seconds = 40.0;
  options.close_seconds = 0.3;
  options.engine_seconds = 20.0;
  return options;
}

// Runs `rank_main(rank)` on every rank, each in a thread of its own.
inline void run_threads(int num_ranks, const std::function<void(int)>& rank_main) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&rank_main, rank] { rank_main(rank); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

inline void run_nccl_ranks(
    FakeFabric& fabric, int num_ranks, const std::function<void(shuffle::NcclTransport&)>& rank_main
) {
  LoopbackHub hub{num_ranks};
  run_threads(num_ranks, [&](int rank) {
    const shuffle::DeviceLibraries libraries = fabric.libraries(rank);
    shuffle::NcclTransport transport{
        std::make_unique<LoopbackControl>(hub, rank), libraries.nccl, libraries.device,
        quick_options()};
    rank_main(transport);
  });
}

}  // namespace routepack::testing

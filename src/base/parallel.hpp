// Loops over items by threads.
#pragma once

#include <cstddef>
#include <functional>

namespace routepack::base {

// Which thread takes which item: whoever is free, or each thread a fixed range, so that an item
// meets the same caches every time.
enum class ParallelDeal { kAsFree, kFixed };

// work(item) for 0 … count - 1 by `num_threads` >= 1 threads. All items run, even where one throws;
// then the exception of the lowest item that has one is thrown, whatever the threads did.
void parallel_for(
    std::size_t count,
    int num_threads,
    const std::function<void(std::size_t)>& work,
    ParallelDeal deal = ParallelDeal::kAsFree
);

}  // namespace routepack::base

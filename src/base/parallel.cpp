#include "base/parallel.hpp"

#include <cstdint>
#include <exception>
#include <vector>

namespace routepack::base {

void parallel_for(
    std::size_t count,
    int num_threads,
    const std::function<void(std::size_t)>& work,
    ParallelDeal deal
) {
  // No exception may leave an OpenMP region: each item keeps its own until the region ends.
  std::vector<std::exception_ptr> errors(count);
  const auto run = [&](std::int64_t item) noexcept {
    try {
      work(static_cast<std::size_t>(item));
    } catch (...) {
      errors[static_cast<std::size_t>(item)] = std::current_exception();
    }
  };
  const auto end = static_cast<std::int64_t>(count);
  if (deal == ParallelDeal::kFixed) {  // NOLINT(bugprone-branch-clone): their schedules differ
#pragma omp parallel for schedule(static) num_threads(num_threads)
    for (std::int64_t item = 0; item < end; ++item) {
      run(item);
    }
  } else {
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
    for (std::int64_t item = 0; item < end; ++item) {
      run(item);
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace routepack::base

// Exceptions of an OpenMP loop: none may leave the parallel region, so they wait here until it
// ends.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace routepack {

// One slot an item of the loop, so that threads never meet and the outcome does not depend on them.
//   ParallelErrors errors(count);
//   #pragma omp parallel for
//   for (std::size_t item = 0; item < count; ++item) {
//     errors.run(item, [&] { ... });
//   }
//   errors.rethrow_first();
class ParallelErrors {
 public:
  explicit ParallelErrors(std::size_t num_items) : errors_(num_items) {}

  // Runs the work of `item` and keeps what it throws.
  template <class Work>
  void run(std::size_t item, Work&& work) noexcept {
    try {
      std::forward<Work>(work)();
    } catch (...) {
      errors_[item] = std::current_exception();
    }
  }

  // After the region: throws the exception of the lowest item that has one.
  void rethrow_first() const {
    for (const std::exception_ptr& error : errors_) {
      if (error) {
        std::rethrow_exception(error);
      }
    }
  }

 private:
  std::vector<std::exception_ptr> errors_;
};

}  // namespace routepack

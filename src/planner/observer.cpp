#include "planner/observer.hpp"

#include <utility>

namespace routepack {
namespace {

template <class Argument>
std::function<void(const Argument&)> shielded(std::function<void(const Argument&)> call) {
  if (!call) {
    return call;
  }
  return [call = std::move(call)](const Argument& argument) noexcept {
    try {
      call(argument);
    } catch (...) {  // a report that fails changes no plan
    }
  };
}

}  // namespace

PlanObserver without_exceptions(PlanObserver observer) {
  return {shielded(std::move(observer.progress)), shielded(std::move(observer.log))};
}

}  // namespace routepack

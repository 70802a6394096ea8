// The transports that must pass the same tests, with MPI ranks as ranks.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "shuffle/transport/transport.hpp"

namespace routepack::testing {

struct TransportCase {
  std::string name;
  std::function<std::unique_ptr<Transport>()> make;  // collective over MPI_COMM_WORLD
};

[[nodiscard]] std::vector<TransportCase> transport_cases();

// For GoogleTest's messages.
inline void PrintTo(const TransportCase& transport, std::ostream* out) { *out << transport.name; }

// Names for INSTANTIATE_TEST_SUITE_P.
struct TransportCaseName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};

}  // namespace routepack::testing

#include "shuffle/transport/transport_cases.hpp"

#include <mpi.h>

#include "shuffle/engine/forwarding_engine.hpp"
#include "shuffle/transport/mpi_transport.hpp"

namespace routepack::testing {
namespace {

// Says that its buffers are device memory, so that the MPI transport bounces them; tensors are
// host memory as before.
class PretendedDevice : public ForwardingEngine {
 public:
  [[nodiscard]] Memory memory() const override { return Memory::kDevice; }
  [[nodiscard]] bool reaches(Memory /*memory*/) const override { return true; }
};

}  // namespace

std::vector<TransportCase> transport_cases() {
  return {
      TransportCase{"Mpi", [] { return std::make_unique<shuffle::MpiTransport>(MPI_COMM_WORLD); }},
      TransportCase{"MpiThroughHostBuffers", [] {
                      return std::make_unique<shuffle::MpiTransport>(
                          MPI_COMM_WORLD, std::make_shared<PretendedDevice>()
                      );
                    }}};
}

}  // namespace routepack::testing

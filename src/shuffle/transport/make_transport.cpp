#include "shuffle/transport/make_transport.hpp"

#include "base/check.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "shuffle/engine/device_engine.hpp"
#include "shuffle/transport/mpi_transport.hpp"
#include "shuffle/transport/nccl_transport.hpp"

namespace routepack::shuffle {
namespace {

TransportChoice wrap(std::unique_ptr<Transport> transport, std::string why_not_nccl) {
  TransportChoice choice;
  choice.name = std::string(transport->name());
  choice.memory = transport->engine().memory();
  choice.why_not_nccl = std::move(why_not_nccl);
  choice.transport = TransportHandle{transport.release()};
  return choice;
}

// Collective. The text of the lowest rank that has one.
std::string first_obstacle(const std::string& mine, const comm::Communicator& comm) {
  const int rank = mine.empty() ? comm.num_mpi_ranks() : comm.mpi_rank();
  const int first = comm::all_reduce_min(rank, comm);
  if (first == comm.num_mpi_ranks()) {
    return {};
  }
  const std::vector<char> text =
      comm::broadcast(std::vector<char>(mine.begin(), mine.end()), first, comm);
  return fmt::format("rank {}: {}", first, std::string_view(text.data(), text.size()));
}

std::string find_obstacle(const DeviceLibraries& libraries, std::optional<int> device) {
  std::string obstacle = find_nccl_obstacle(libraries);
  if (obstacle.empty() && device) {
    const int num_devices = libraries.device->num_devices().value;
    if (*device < 0 || *device >= num_devices) {
      obstacle = fmt::format("there is no device {}, but {} from 0 on", *device, num_devices);
    }
  }
  return obstacle;
}

// Collective. Ranks of a node take its devices in turn.
int choose_device(const DeviceLibraries& libraries, const comm::Communicator& comm) {
  const int local_rank = comm.split_by_node().mpi_rank();
  return local_rank % libraries.device->num_devices().value;
}

}  // namespace

TransportChoice choose_transport(
    TransportKind kind,
    MPI_Comm parent,
    const DeviceLibraries& libraries,
    std::optional<int> device,
    double setup_seconds
) {
  const comm::Communicator comm{parent};
  comm::agree_on_inputs(
      {{"the kind of transport", fmt::format("{}", static_cast<int>(kind))}}, comm
  );
  switch (kind) {
    case TransportKind::kMpi:
      return wrap(std::make_unique<MpiTransport>(parent), "not asked for");
    case TransportKind::kNccl:
    case TransportKind::kAuto:
      break;
    default:
      base::fail(ErrorCode::kUsage, "there is no kind of transport {}", static_cast<int>(kind));
  }
  const std::string obstacle = first_obstacle(find_obstacle(libraries, device), comm);
  if (!obstacle.empty()) {
    RP_CHECK(
        kind == TransportKind::kAuto, ErrorCode::kUsage, "the NCCL transport was asked for; {}",
        obstacle
    );
    return wrap(std::make_unique<MpiTransport>(parent), obstacle);
  }
  NcclOptions options;
  const int next_in_turn = choose_device(libraries, comm);  // collective
  options.device = device.value_or(next_in_turn);
  options.setup_seconds = setup_seconds;
  try {
    return wrap(
        std::make_unique<NcclTransport>(
            std::make_unique<MpiControl>(parent), libraries.nccl, libraries.device, options
        ),
        {}
    );
  } catch (const Error& error) {  // the same on all ranks
    if (kind == TransportKind::kNccl) {
      throw;
    }
    std::shared_ptr<CopyEngine> engine = comm::agree_on(
        [&] {
          return std::make_shared<DeviceEngine>(
              libraries.device, options.device, options.engine_seconds
          );
        },
        comm
    );
    return wrap(std::make_unique<MpiTransport>(parent, std::move(engine)), error.what());
  }
}

}  // namespace routepack::shuffle

namespace routepack {

TransportChoice make_transport(TransportKind kind, MPI_Comm comm, std::optional<int> device) {
  return shuffle::choose_transport(kind, comm, shuffle::load_device_libraries(), device);
}

}  // namespace routepack

#include "comm/node_shared.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "base/check.hpp"
#include "comm/agreement.hpp"

namespace routepack {
namespace {

constexpr std::size_t kAlignment = 64;

// Where MPI cannot allocate, its root returns alone and the others wait inside the call; so what
// can be known before is checked before.
void check_memory(std::size_t bytes) {
  const auto memory = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  RP_CHECK(
      bytes <= memory - kAlignment, ErrorCode::kNumberOutOfRange,
      "out of memory: {} bytes are to be shared on a node of {}", bytes, memory
  );
}

}  // namespace

NodeSharedBytes::NodeSharedBytes(std::size_t bytes, const Communicator& node) : bytes_(bytes) {
  void* base = nullptr;
  agree_on([&] { check_memory(bytes); }, node);
  agree_on(
      [&] {
        const std::size_t mine = node.is_root() ? bytes + kAlignment : 0;
        RP_MPI(MPI_Win_allocate_shared(
            static_cast<MPI_Aint>(mine), 1, MPI_INFO_NULL, node.get(), &base, &window_
        ));
        MPI_Aint size = 0;
        int unit = 0;
        RP_MPI(MPI_Win_shared_query(window_, 0, &size, &unit, &base));
        RP_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));
      },
      node
  );
  // Pages are mapped page-aligned everywhere, so each rank finds the same aligned start.
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  data_ = static_cast<std::byte*>(base) + (kAlignment - address % kAlignment) % kAlignment;
  if (node.is_root()) {
    std::memset(data_, 0, bytes);
  }
  synchronize(node);
}

NodeSharedBytes::NodeSharedBytes(NodeSharedBytes&& other) noexcept
    : window_(std::exchange(other.window_, MPI_WIN_NULL)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

NodeSharedBytes::~NodeSharedBytes() {
  if (window_ != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
}

void NodeSharedBytes::synchronize(const Communicator& node) const {
  RP_MPI(MPI_Win_sync(window_));
  RP_MPI(MPI_Barrier(node.get()));
  RP_MPI(MPI_Win_sync(window_));
}

}  // namespace routepack

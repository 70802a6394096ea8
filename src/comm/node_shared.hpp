// One copy of an array per node, in memory that its ranks have in common; where they have none, a
// copy a rank.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"

namespace routepack::comm {

// Where common memory comes from: "" is anonymous memory, which other ranks of the machine open
// through /proc; anything else a folder for a file that is unlinked as soon as all have opened it.
// Tried in order. Every step is voted on, so that a folder without room, or ranks in containers
// that see neither each other's processes nor files, lead to the next place and never to a wait.
using SharedPlaces = std::vector<std::string>;
[[nodiscard]] const SharedPlaces& shared_places();  // anonymous memory, then /dev/shm

// Owns the mapping. The bytes start as zeros, 64-byte aligned.
class NodeSharedBytes {
 public:
  // Collective over `node` (a communicator of split_by_node). Throws NUMBER_OUT_OF_RANGE on all of
  // its ranks where they need more than the node's memory; ranks of other nodes do not hear of it.
  NodeSharedBytes(
      std::size_t bytes, const Communicator& node, const SharedPlaces& places = shared_places()
  );
  ~NodeSharedBytes();
  NodeSharedBytes(NodeSharedBytes&& other) noexcept;
  NodeSharedBytes& operator=(NodeSharedBytes&&) = delete;
  NodeSharedBytes(const NodeSharedBytes&) = delete;
  NodeSharedBytes& operator=(const NodeSharedBytes&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  // The same on all ranks of the node. If not, each rank has bytes of its own that no other sees.
  [[nodiscard]] bool is_shared() const { return is_shared_; }

  // Collective over the ranks that share the bytes: what any of them wrote before is visible to all
  // after.
  static void synchronize(const Communicator& sharers);

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_shared_ = true;
};

// The same, as elements of T.
template <class T>
class NodeSharedArray {
 public:
  NodeSharedArray(
      std::size_t size, const Communicator& node, const SharedPlaces& places = shared_places()
  )
      : bytes_(size * sizeof(T), node, places), size_(size) {}
  [[nodiscard]] std::span<T> span() const { return {reinterpret_cast<T*>(bytes_.data()), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_shared() const { return bytes_.is_shared(); }

 private:
  NodeSharedBytes bytes_;
  std::size_t size_ = 0;
};

}  // namespace routepack::comm

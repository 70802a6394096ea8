// One copy of an array per node, in an MPI shared-memory window.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "comm/communicator.hpp"

namespace routepack {

// Owns the window. The bytes start as zeros, 64-byte aligned.
class NodeSharedBytes {
 public:
  // Collective over `node` (a communicator of split_by_node). Throws on all of its ranks where one
  // of them cannot allocate or map: NUMBER_OUT_OF_RANGE above the node's memory, TRANSFER_FAILED
  // where MPI says no. Ranks of other nodes do not hear of it, and a window that the
  // others got is not freed, since that takes all of them.
  NodeSharedBytes(std::size_t bytes, const Communicator& node);
  ~NodeSharedBytes();
  NodeSharedBytes(NodeSharedBytes&& other) noexcept;
  NodeSharedBytes& operator=(NodeSharedBytes&&) = delete;
  NodeSharedBytes(const NodeSharedBytes&) = delete;
  NodeSharedBytes& operator=(const NodeSharedBytes&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  // Collective over the node: what any of its ranks wrote before is visible to all after.
  void synchronize(const Communicator& node) const;

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The same, as elements of T.
template <class T>
class NodeSharedArray {
 public:
  NodeSharedArray(std::size_t size, const Communicator& node)
      : bytes_(size * sizeof(T), node), size_(size) {}
  [[nodiscard]] std::span<T> span() const { return {reinterpret_cast<T*>(bytes_.data()), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void synchronize(const Communicator& node) const { bytes_.synchronize(node); }

 private:
  NodeSharedBytes bytes_;
  std::size_t size_ = 0;
};

}  // namespace routepack

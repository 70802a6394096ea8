#include "comm/node_shared.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "base/check.hpp"
#include "base/node_memory.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

namespace routepack::comm {
namespace {

// What the node's root tells the others about the memory that it has made. The path alone could
// lead to another file: ranks in containers have other /proc and /dev/shm.
struct SharedFile {
  bool made = false;
  std::array<char, 256> path{};
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Of this node, at most; a failure is a std::nullopt, as the ranks vote on it.
std::optional<struct stat> find_status(const Descriptor& file) {
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    return std::nullopt;
  }
  return status;
}

// A name that nobody has: several jobs of a machine may share the folder.
std::string unused_name(const std::string& folder) {
  static std::atomic<unsigned> number{0};
  return fmt::format("{}/routepack-{}-{}-{}", folder, ::getuid(), ::getpid(), number.fetch_add(1));
}

// The root's side of a place: the file, with all its pages there, so that no rank can fault later.
class RootFile {
 public:
  RootFile(const std::string& place, std::size_t bytes)
      : path_(place.empty() ? "" : unused_name(place)),
        file_(
            place.empty() ? ::memfd_create("routepack", MFD_CLOEXEC)
                          : ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
        ) {
    const std::optional<struct stat> status = find_status(file_);
    if (!status || ::posix_fallocate(file_.get(), 0, static_cast<::off_t>(bytes)) != 0) {
      return;
    }
    const std::string path =
        place.empty() ? fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()) : path_;
    if (path.size() >= shared_.path.size()) {
      return;
    }
    std::ranges::copy(path, shared_.path.begin());
    shared_.device = status->st_dev;
    shared_.inode = status->st_ino;
    shared_.made = true;
  }
  ~RootFile() {
    if (file_.is_open() && !path_.empty()) {
      ::unlink(path_.c_str());
    }
  }
  RootFile(const RootFile&) = delete;
  RootFile& operator=(const RootFile&) = delete;
  [[nodiscard]] const SharedFile& shared() const { return shared_; }

 private:
  std::string path_;  // empty: anonymous
  Descriptor file_;
  SharedFile shared_;
};

void* map_shared(const SharedFile& shared, std::size_t bytes) {
  const Descriptor file(::open(shared.path.data(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const std::optional<struct stat> status = find_status(file);
  if (!status || status->st_dev != shared.device || status->st_ino != shared.inode) {
    return MAP_FAILED;
  }
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
}

// Collective. Common memory of one place on all ranks of the node, or null on all.
std::byte* map_from(const std::string& place, std::size_t bytes, const Communicator& node) {
  std::optional<RootFile> root;
  SharedFile shared;
  if (node.is_root()) {
    root.emplace(place, bytes);
    shared = root->shared();
  }
  shared = broadcast_value(shared, 0, node);
  void* const mapped = shared.made ? map_shared(shared, bytes) : MAP_FAILED;
  // Also the point after which the root may take the name away.
  if (all_reduce_min(mapped == MAP_FAILED ? 0 : 1, node) == 1) {
    return static_cast<std::byte*>(mapped);
  }
  if (mapped != MAP_FAILED) {
    ::munmap(mapped, bytes);
  }
  return nullptr;
}

std::byte* map_alone(std::size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RP_CHECK(
      mapped != MAP_FAILED, ErrorCode::kNumberOutOfRange, "out of memory: {} bytes of a rank", bytes
  );
  return static_cast<std::byte*>(mapped);
}

void check_memory(std::size_t bytes, int num_copies) {
  const auto memory = static_cast<std::size_t>(base::node_memory_bytes());
  RP_CHECK(
      bytes <= memory / static_cast<std::size_t>(num_copies), ErrorCode::kNumberOutOfRange,
      "out of memory: {} bytes are to be held {} times on a node of {}", bytes, num_copies, memory
  );
}

}  // namespace

const SharedPlaces& shared_places() {
  static const SharedPlaces kPlaces = {"", "/dev/shm"};
  return kPlaces;
}

NodeSharedBytes::NodeSharedBytes(
    std::size_t bytes, const Communicator& node, const SharedPlaces& places
)
    : bytes_(bytes) {
  const std::size_t mapped_bytes = std::max<std::size_t>(bytes, 1);  // nothing cannot be mapped
  agree_on([&] { check_memory(mapped_bytes, 1); }, node);
  const bool has_others = node.num_mpi_ranks() > 1;
  for (std::size_t at = 0; has_others && data_ == nullptr && at < places.size(); ++at) {
    data_ = map_from(places[at], mapped_bytes, node);
  }
  if (data_ != nullptr) {
    return;
  }
  is_shared_ = !has_others;
  agree_on([&] { check_memory(mapped_bytes, node.num_mpi_ranks()); }, node);
  data_ = agree_on([&] { return map_alone(mapped_bytes); }, node);
}

NodeSharedBytes::NodeSharedBytes(NodeSharedBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      is_shared_(other.is_shared_) {}

NodeSharedBytes::~NodeSharedBytes() {
  if (data_ != nullptr) {
    ::munmap(data_, std::max<std::size_t>(bytes_, 1));
  }
}

void NodeSharedBytes::synchronize(const Communicator& sharers) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  barrier(sharers);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace routepack::comm

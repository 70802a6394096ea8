#include "shuffle/transport/loopback.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/check.hpp"

namespace routepack::testing {

std::vector<std::vector<std::byte>> LoopbackControl::all_gather(
    std::span<const std::byte> mine, const base::Deadline& deadline
) {
  std::unique_lock lock{hub_.mutex_};
  auto& parts = hub_.gathers_[num_gathers_++];
  parts.resize(static_cast<std::size_t>(hub_.num_ranks_));
  parts[static_cast<std::size_t>(rank_)].emplace(mine.begin(), mine.end());
  hub_.changed_.notify_all();
  const bool complete = hub_.changed_.wait_until(lock, deadline.at(), [&] {
    return std::all_of(parts.begin(), parts.end(), [](const auto& part) {
      return part.has_value();
    });
  });
  std::vector<std::vector<std::byte>> all;
  for (std::size_t rank = 0; complete && rank < parts.size(); ++rank) {
    all.push_back(*parts[rank]);
  }
  return all;
}

bool LoopbackControl::all_reduce_min(
    std::span<std::int64_t> words, const base::Deadline& deadline
) {
  const std::vector<std::vector<std::byte>> all = all_gather(std::as_bytes(words), deadline);
  for (const std::vector<std::byte>& part : all) {
    std::vector<std::int64_t> theirs(words.size());
    std::memcpy(theirs.data(), part.data(), part.size());
    for (std::size_t n = 0; n < words.size(); ++n) {
      words[n] = std::min(words[n], theirs[n]);
    }
  }
  return !all.empty();
}

void LoopbackControl::announce_failure(std::uint64_t serial) {
  const std::lock_guard lock{hub_.mutex_};
  hub_.failed_serial_ = std::max(hub_.failed_serial_, serial);
  hub_.changed_.notify_all();
}

bool LoopbackControl::failure_announced(std::uint64_t serial) {
  const std::lock_guard lock{hub_.mutex_};
  return hub_.failed_serial_ >= serial;
}

void LoopbackControl::lose_contact(const std::string& reason) {
  throw Error(ErrorCode::kTransferFailed, reason);
}

void LoopbackTransport::begin(
    const shuffle::RoundId& id,
    std::span<const shuffle::SendSlice> sends,
    std::span<const shuffle::RecvSlice> receives
) {
  const std::lock_guard lock{hub_.mutex_};
  id_ = id;
  awaited_.assign(receives.begin(), receives.end());
  for (const shuffle::SendSlice& slice : sends) {
    const LoopbackHub::Key key{control_.rank(), slice.peer, id.serial, id.round};
    RP_CHECK(
        hub_.in_flight_.emplace(key, std::vector(slice.data, slice.data + slice.bytes)).second,
        ErrorCode::kTransferFailed, "a second slice to rank {} in round {}", slice.peer, id.round
    );
  }
  hub_.changed_.notify_all();
}

std::optional<shuffle::ExchangeFault> LoopbackTransport::finish(const base::Deadline& deadline) {
  std::unique_lock lock{hub_.mutex_};
  while (true) {
    std::erase_if(awaited_, [&](const shuffle::RecvSlice& slice) {
      const auto found = hub_.in_flight_.find({slice.peer, control_.rank(), id_.serial, id_.round});
      if (found == hub_.in_flight_.end()) {
        return false;
      }
      std::memcpy(slice.data, found->second.data(), found->second.size());
      hub_.in_flight_.erase(found);
      return true;
    });
    if (awaited_.empty()) {
      return std::nullopt;
    }
    const bool told = hub_.failed_serial_ >= id_.serial;
    if (told || hub_.changed_.wait_until(lock, deadline.at()) == std::cv_status::timeout) {
      const int peer = awaited_.front().peer;
      return shuffle::ExchangeFault{told, peer, fmt::format("no slice from rank {}", peer)};
    }
  }
}

bool LoopbackTransport::recover(
    std::vector<std::shared_ptr<std::byte>> /*buffers*/, const base::Deadline& deadline
) {
  awaited_.clear();
  std::vector<std::int64_t> words{1};
  if (!control_.all_reduce_min(words, deadline)) {
    return false;
  }
  const std::lock_guard lock{hub_.mutex_};
  std::erase_if(hub_.in_flight_, [&](const auto& item) {
    return item.first.target == control_.rank();
  });
  return true;
}

void run_ranks(int num_ranks, const std::function<void(LoopbackTransport&)>& rank_main) {
  LoopbackHub hub{num_ranks};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&hub, &rank_main, rank] {
      LoopbackTransport transport{hub, rank};
      rank_main(transport);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace routepack::testing

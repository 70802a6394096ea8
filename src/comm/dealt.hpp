// Work on many items dealt over the ranks like cards: item i belongs to rank i mod ranks. What
// comes out does not depend on how many ranks there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

namespace routepack::comm {

// The MPI rank that an item belongs to.
[[nodiscard]] inline int owner_of_dealt(std::size_t item, const Communicator& comm) {
  return static_cast<int>(item % static_cast<std::size_t>(comm.num_mpi_ranks()));
}

// The items of this rank, ascending.
[[nodiscard]] inline std::vector<std::size_t> dealt_items(
    std::size_t count, const Communicator& comm
) {
  std::vector<std::size_t> items;
  const auto stride = static_cast<std::size_t>(comm.num_mpi_ranks());
  for (auto item = static_cast<std::size_t>(comm.mpi_rank()); item < count; item += stride) {
    items.push_back(item);
  }
  return items;
}

// Collective. The words of every item, in the order of the items, on every rank; `mine` are those
// of dealt_items(count). Items may have different numbers of words.
template <class Word>
[[nodiscard]] std::vector<std::vector<Word>> gather_dealt(
    std::size_t count, const std::vector<std::vector<Word>>& mine, const Communicator& comm
) {
  std::vector<std::int64_t> my_sizes;
  std::vector<Word> my_words;
  for (const std::vector<Word>& words : mine) {
    my_sizes.push_back(static_cast<std::int64_t>(words.size()));
    my_words.insert(my_words.end(), words.begin(), words.end());
  }
  const std::vector<std::int64_t> sizes = all_gather(my_sizes, comm);
  const std::vector<Word> words = all_gather(my_words, comm);
  std::vector<std::vector<Word>> all(count);
  auto next_size = sizes.begin();
  auto next_word = words.begin();
  const auto stride = static_cast<std::size_t>(comm.num_mpi_ranks());
  for (std::size_t rank = 0; rank < stride; ++rank) {
    for (std::size_t item = rank; item < count; item += stride) {
      const auto last_word = next_word + *next_size++;
      all[item].assign(next_word, last_word);
      next_word = last_word;
    }
  }
  return all;
}

// Collective. work(position, item) for the items of this rank, by its threads; the position is that
// in dealt_items(count). Throws on all ranks what the lowest rank that fails throws.
template <class Work>
void for_each_dealt(
    std::size_t count, int num_threads, const Work& work, const Communicator& comm
) {
  const std::vector<std::size_t> items = dealt_items(count, comm);
  agree_on(
      [&] {
        base::parallel_for(items.size(), num_threads, [&](std::size_t position) {
          work(position, items[position]);
        });
      },
      comm
  );
}

}  // namespace routepack::comm

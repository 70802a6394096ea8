#include "comm/agreement.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "comm/collectives.hpp"

namespace routepack::comm {
void agree_ok(const std::optional<Error>& mine, const Communicator& comm) {
  const int first = all_reduce_min(mine ? comm.mpi_rank() : comm.num_mpi_ranks(), comm);
  if (first == comm.num_mpi_ranks()) {
    return;
  }
  std::vector<char> text;
  auto code = static_cast<int>(ErrorCode::kUsage);
  if (comm.mpi_rank() == first) {
    const std::string what = mine->what();
    text.assign(what.begin(), what.end());
    code = static_cast<int>(mine->code());
  }
  code = broadcast_value(code, first, comm);
  text = broadcast(std::move(text), first, comm);
  throw Error(static_cast<ErrorCode>(code), std::string(text.begin(), text.end()));
}

void agree_same(const std::string& mine, const char* what, const Communicator& comm) {
  const std::optional<int> other =
      find_other_rank(base::digest_of(std::as_bytes(std::span(mine))), comm);
  if (!other) {
    return;
  }
  const auto text_of = [&](int rank) {
    const std::vector<char> text =
        broadcast(std::vector<char>(mine.begin(), mine.end()), rank, comm);
    return std::string(text.begin(), text.end());
  };
  const std::string at_root = text_of(0);
  const std::string at_other = text_of(*other);
  base::fail(
      ErrorCode::kPlanDisagreement, "{}: rank 0 holds {}, rank {} holds {}", what, at_root, *other,
      at_other
  );
}

namespace detail {

Error current_error(int mpi_rank) {
  const auto internal = [&](const char* what) {
    return Error(
        ErrorCode::kTransferFailed, fmt::format("internal error on rank {}: {}", mpi_rank, what)
    );
  };
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kNumberOutOfRange, "out of memory");
  } catch (const std::exception& error) {
    return internal(error.what());
  } catch (...) {
    return internal("an exception of unknown type");
  }
}

}  // namespace detail

namespace {

// An entry's texts one after another, and where each ends.
struct PackedEvidence {
  std::vector<char> text;
  std::vector<std::int64_t> ends;  // name, value, name, value, …
};

PackedEvidence pack(const std::vector<NamedEvidence>& evidence) {
  PackedEvidence packed;
  for (const NamedEvidence& entry : evidence) {
    for (const std::string& part : {entry.name, entry.value}) {
      packed.text.insert(packed.text.end(), part.begin(), part.end());
      packed.ends.push_back(static_cast<std::int64_t>(packed.text.size()));
    }
  }
  return packed;
}

std::vector<NamedEvidence> unpack(const PackedEvidence& packed) {
  std::vector<NamedEvidence> evidence;
  std::int64_t begin = 0;
  const auto next = [&](std::size_t part) {
    const std::int64_t end = packed.ends[part];
    std::string text(packed.text.begin() + begin, packed.text.begin() + end);
    begin = end;
    return text;
  };
  for (std::size_t part = 0; part < packed.ends.size(); part += 2) {
    NamedEvidence& entry = evidence.emplace_back();
    entry.name = next(part);
    entry.value = next(part + 1);
  }
  return evidence;
}

base::Digest digest_of_packed(const PackedEvidence& packed) {
  base::DigestBuilder builder;
  builder.add_all(packed.ends);
  const base::Digest text = base::digest_of(std::as_bytes(std::span(packed.text)));
  builder.add(text.high);
  builder.add(text.low);
  return builder.finish();
}

std::vector<NamedEvidence> broadcast_evidence(
    const PackedEvidence& mine, int root, const Communicator& comm
) {
  return unpack({broadcast(mine.text, root, comm), broadcast(mine.ends, root, comm)});
}

// As a predicate: "20", cut where it is long, or "not given".
std::string value_in(const std::vector<NamedEvidence>& evidence, const std::string& name) {
  constexpr std::size_t kMaxLetters = 200;
  const auto found = std::ranges::find(evidence, name, &NamedEvidence::name);
  if (found == evidence.end()) {
    return "not given";
  }
  return found->value.size() <= kMaxLetters ? found->value
                                            : found->value.substr(0, kMaxLetters) + "…";
}

// The first name whose values differ; empty where only the order does.
std::string first_difference(
    const std::vector<NamedEvidence>& first, const std::vector<NamedEvidence>& other
) {
  for (const std::vector<NamedEvidence>* list : {&first, &other}) {
    for (const NamedEvidence& entry : *list) {
      const auto in_first = std::ranges::find(first, entry.name, &NamedEvidence::name);
      const auto in_other = std::ranges::find(other, entry.name, &NamedEvidence::name);
      if (in_first == first.end() || in_other == other.end() ||
          in_first->value != in_other->value) {
        return entry.name;
      }
    }
  }
  return {};
}

}  // namespace

std::optional<int> find_other_rank(const base::Digest& mine, const Communicator& comm) {
  const std::vector<base::Digest> all =
      all_gather_value(mine, comm);  // the same list on every rank
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) {
      return static_cast<int>(rank);
    }
  }
  return std::nullopt;
}

void agree_on_inputs(const std::vector<NamedEvidence>& mine, const Communicator& comm) {
  const PackedEvidence packed = pack(mine);
  const std::optional<int> other = find_other_rank(digest_of_packed(packed), comm);
  if (!other) {
    return;
  }
  const std::vector<NamedEvidence> at_root = broadcast_evidence(packed, 0, comm);
  const std::vector<NamedEvidence> at_other = broadcast_evidence(packed, *other, comm);
  const std::string name = first_difference(at_root, at_other);
  base::fail(
      ErrorCode::kInputDisagreement, "{} is {} on rank 0 and {} on rank {}", name,
      value_in(at_root, name), value_in(at_other, name), *other
  );
}

void agree_on_numbers(
    const std::string& name,
    const std::string& element,
    std::span<const std::int64_t> mine,
    const Communicator& comm
) {
  const std::optional<int> other = find_other_rank(base::digest_of(std::as_bytes(mine)), comm);
  if (!other) {
    return;
  }
  const std::vector<std::int64_t> values(mine.begin(), mine.end());
  const std::vector<std::int64_t> at_root = broadcast(values, 0, comm);
  const std::vector<std::int64_t> at_other = broadcast(values, *other, comm);
  RP_CHECK(
      at_root.size() == at_other.size(), ErrorCode::kInputDisagreement,
      "{} has {} elements on rank 0 and {} on rank {}", name, at_root.size(), at_other.size(),
      *other
  );
  const auto first = std::ranges::mismatch(at_root, at_other);
  base::fail(
      ErrorCode::kInputDisagreement, "{}: {} {} is {} on rank 0 and {} on rank {}", name, element,
      first.in1 - at_root.begin(), *first.in1, *first.in2, *other
  );
}

}  // namespace routepack::comm

// xxHash has the steps of XXH3 for every instruction set; here they are inlined into a function
// for each level. The walk over the payload is ours, since xxHash chooses its own at compile time.
#include "shuffle/engine/gather.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define XXH_DISPATCH_AVX2 1
#define XXH_TARGET_AVX2 __attribute__((target("avx2")))
#endif
#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wundef"
#include <xxhash.h>
#pragma GCC diagnostic pop

#if defined(__x86_64__) && XXH_VERSION_NUMBER >= 801  // older ones need -mavx2 for these steps
#define RP_HASH_HAS_AVX2
#endif

namespace routepack::shuffle {
namespace {

#define RP_INLINE [[gnu::always_inline]] inline

// XXH3 cuts its input into stripes and those into blocks. Each stripe is added under the secret
// from its own byte on, 8 a stripe; behind each block but the last the accumulators are scrambled.
constexpr std::size_t kStripeBytes = 64;
constexpr std::size_t kSecretStep = 8;
constexpr std::size_t kSecretBytes = sizeof(XXH3_kSecret);
constexpr std::size_t kStripesPerBlock = (kSecretBytes - kStripeBytes) / kSecretStep;
constexpr std::size_t kBlockBytes = kStripeBytes * kStripesPerBlock;
constexpr std::size_t kLastStripeShift = 7;  // the last stripe's secret lies askew
constexpr std::size_t kMergeSecret = 11;
constexpr std::size_t kMaxShortBytes = 240;  // up to here XXH3 has no stripes
constexpr std::size_t kPrefetchBytes = 384;

struct Accumulators {
  alignas(64) std::uint64_t words[8] = XXH3_INIT_ACC;
};
// xxHash's two steps; the accumulators come first, the secret last.
using AddStripe = void (*)(void*, const void*, const void*);
using Scramble = void (*)(void*, const void*);

RP_INLINE void add_stripes(
    Accumulators& sums, const std::byte* data, std::size_t num_stripes, AddStripe add
) {
  for (std::size_t n = 0; n < num_stripes; ++n) {
    const std::byte* stripe = data + n * kStripeBytes;
    __builtin_prefetch(stripe + kPrefetchBytes);
    add(sums.words, stripe, XXH3_kSecret + n * kSecretStep);
  }
}

// Whole blocks, none of them the payload's last.
RP_INLINE void add_blocks_body(
    Accumulators& sums, const std::byte* data, std::size_t bytes, AddStripe add, Scramble scramble
) {
  for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
    add_stripes(sums, data + at, kStripesPerBlock, add);
    scramble(sums.words, XXH3_kSecret + kSecretBytes - kStripeBytes);
  }
}

std::size_t bytes_before_last_block(std::size_t bytes) {
  return (bytes - 1) / kBlockBytes * kBlockBytes;
}

// The last stripe ends where the payload ends: it may overlap its predecessor.
RP_INLINE std::uint64_t finish_body(
    Accumulators& sums,
    const std::byte* payload,
    std::size_t begin,
    std::size_t bytes,
    AddStripe add,
    Scramble scramble
) {
  const std::size_t last_block = bytes_before_last_block(bytes);
  add_blocks_body(sums, payload + begin, last_block - begin, add, scramble);
  add_stripes(sums, payload + last_block, (bytes - last_block - 1) / kStripeBytes, add);
  add(sums.words, payload + bytes - kStripeBytes,
      XXH3_kSecret + kSecretBytes - kStripeBytes - kLastStripeShift);
  return XXH3_mergeAccs(
      sums.words, XXH3_kSecret + kMergeSecret, std::uint64_t{bytes} * XXH_PRIME64_1
  );
}

using AddBlocks = void (*)(Accumulators& sums, const std::byte* data, std::size_t bytes);
using Finish = std::uint64_t (*)(
    const Accumulators& sums, const std::byte* payload, std::size_t begin, std::size_t bytes
);
using Checksum = std::uint64_t (*)(const std::byte* payload, std::size_t bytes);

// Of payloads longer than kMaxShortBytes.
struct HashFunctions {
  AddBlocks add_blocks = nullptr;
  Finish finish = nullptr;  // adds the payload from `begin` on, where a block begins
  Checksum checksum = nullptr;
};

// Copies of the accumulators, which a compiler can keep in registers.
#define RP_HASH(NAME, TARGET, ADD, SCRAMBLE)                                                    \
  TARGET void add_blocks_##NAME(Accumulators& sums, const std::byte* data, std::size_t bytes) { \
    Accumulators local = sums;                                                                  \
    add_blocks_body(local, data, bytes, ADD, SCRAMBLE);                                         \
    sums = local;                                                                               \
  }                                                                                             \
  TARGET std::uint64_t finish_##NAME(                                                           \
      const Accumulators& sums, const std::byte* payload, std::size_t begin, std::size_t bytes  \
  ) {                                                                                           \
    Accumulators local = sums;                                                                  \
    return finish_body(local, payload, begin, bytes, ADD, SCRAMBLE);                            \
  }                                                                                             \
  TARGET std::uint64_t checksum_##NAME(const std::byte* payload, std::size_t bytes) {           \
    Accumulators local;                                                                         \
    return finish_body(local, payload, 0, bytes, ADD, SCRAMBLE);                                \
  }                                                                                             \
  constexpr HashFunctions hash_##NAME = {add_blocks_##NAME, finish_##NAME, checksum_##NAME};

RP_HASH(portable, , XXH3_accumulate_512, XXH3_scrambleAcc)
#if defined(RP_HASH_HAS_AVX2)
#define RP_TARGET_AVX2 [[gnu::target("avx2")]]
RP_HASH(avx2, RP_TARGET_AVX2, XXH3_accumulate_512_avx2, XXH3_scrambleAcc_avx2)
#endif

// Memory is the limit: AVX-512 gains nothing over AVX2.
const HashFunctions& hash_functions(SimdLevel level) {
#if defined(RP_HASH_HAS_AVX2)
  return level == SimdLevel::kPortable ? hash_portable : hash_avx2;
#else
  static_cast<void>(level);
  return hash_portable;
#endif
}

// Writes a payload from its begin to its end; each piece is hashed while it is still in cache.
class FusedCopy {
 public:
  FusedCopy(std::span<std::byte> target, SimdLevel level)
      : target_(target.data()), bytes_(target.size()), hash_(hash_functions(level)) {}

  void copy(const std::byte* source, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t piece = std::min(bytes, room());
      std::memcpy(target_ + filled_, source, piece);
      advance(piece);
      source += piece;
      bytes -= piece;
    }
  }
  void zero_until(std::size_t end) {
    while (filled_ < end) {
      const std::size_t piece = std::min(end - filled_, room());
      std::memset(target_ + filled_, 0, piece);
      advance(piece);
    }
  }
  [[nodiscard]] std::uint64_t finish() {
    zero_until(bytes_);
    if (bytes_ <= kMaxShortBytes) {
      return XXH3_64bits(target_, bytes_);
    }
    return hash_.finish(sums_, target_, hashed_, bytes_);
  }

 private:
  // Fits the second-level cache beside the source; measured best of 4 KiB to 256 KiB.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
  static_assert(kPieceBytes % kBlockBytes == 0);

  [[nodiscard]] std::size_t room() const { return kPieceBytes - filled_ % kPieceBytes; }
  void advance(std::size_t piece) {
    filled_ += piece;
    if (filled_ % kPieceBytes == 0) {
      const std::size_t end = std::min(filled_, bytes_before_last_block(bytes_));
      hash_.add_blocks(sums_, target_ + hashed_, end - hashed_);
      hashed_ = end;
    }
  }

  std::byte* target_;
  std::size_t bytes_;
  const HashFunctions& hash_;
  Accumulators sums_;
  std::size_t filled_ = 0;
  std::size_t hashed_ = 0;
};

}  // namespace

std::uint64_t gather_segments(
    std::span<std::byte> target, std::span<const CopySegment> segments, SimdLevel level
) {
  FusedCopy fused{target, level};
  for (const CopySegment& segment : segments) {
    fused.zero_until(static_cast<std::size_t>(segment.target - target.data()));
    fused.copy(segment.source, static_cast<std::size_t>(segment.bytes));
  }
  return fused.finish();
}

std::uint64_t payload_checksum(std::span<const std::byte> payload, SimdLevel level) {
  return payload.size() <= kMaxShortBytes
             ? XXH3_64bits(payload.data(), payload.size())
             : hash_functions(level).checksum(payload.data(), payload.size());
}

}  // namespace routepack::shuffle

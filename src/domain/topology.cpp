#include "routepack/topology.hpp"

#include <array>

#include "base/check.hpp"

namespace routepack {
namespace {

struct NamedSize {
  const char* name;
  int value;
};

constexpr int kMaxSize = 1 << 20;  // far above any machine, and products stay inside int64

}  // namespace

void validate_topology(const Topology& topology, int num_experts) {
  const std::array<NamedSize, 6> sizes = {
      {{"dp", topology.dp},
       {"ep", topology.ep},
       {"tp", topology.tp},
       {"cp", topology.cp},
       {"pp", topology.pp},
       {"etp", topology.etp}}};
  for (const NamedSize& size : sizes) {
    RP_CHECK(
        size.value >= 1 && size.value <= kMaxSize, ErrorCode::kNumberOutOfRange,
        "{} is {}, allowed are 1 to {}", size.name, size.value, kMaxSize
    );
  }
  const std::int64_t expert_block = std::int64_t{topology.ep} * topology.etp;
  const std::int64_t dense_block = std::int64_t{topology.tp} * topology.cp;
  RP_CHECK(
      expert_block <= kMaxSize && dense_block <= kMaxSize, ErrorCode::kNumberOutOfRange,
      "ep*etp is {} and tp*cp is {}, allowed are 1 to {}", expert_block, dense_block, kMaxSize
  );
  RP_CHECK(
      expert_block % dense_block == 0, ErrorCode::kTopologyMismatch,
      "ep*etp = {}*{} is no multiple of tp*cp = {}*{}: an EDP shard would hold part of a DP slot",
      topology.ep, topology.etp, topology.tp, topology.cp
  );
  RP_CHECK(
      topology.dp % topology.dp_per_shard() == 0, ErrorCode::kTopologyMismatch,
      "dp = {} is no multiple of the {} DP slots of an EDP shard (ep*etp / (tp*cp))", topology.dp,
      topology.dp_per_shard()
  );
  RP_CHECK(
      num_experts % topology.ep == 0, ErrorCode::kExpertsNotDivisible,
      "{} experts do not divide over ep = {} ranks", num_experts, topology.ep
  );
}

}  // namespace routepack

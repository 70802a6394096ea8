// Ranks that were given different things: every rank throws the same error, which says what.
#include "comm/agreement.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "support/expect_error.hpp"

namespace routepack::comm {
namespace {

using testing::expect_error;
using Evidence = std::vector<NamedEvidence>;

class Inputs : public ::testing::Test {
 protected:
  // `odd` on the last of several ranks, `usual` on the others.
  template <class T>
  T differing(const T& usual, const T& odd) const {
    return last_ > 0 && comm_.mpi_rank() == last_ ? odd : usual;
  }
  // Expects that the last rank's evidence is refused, with a text that ends in its number.
  void expect_refused(const Evidence& usual, const Evidence& odd, const std::string& text) {
    if (last_ == 0) {
      return agree_on_inputs(usual, comm_);
    }
    expect_error(ErrorCode::kInputDisagreement, fmt::format("{} on rank {}", text, last_), [&] {
      agree_on_inputs(differing(usual, odd), comm_);
    });
  }

  Communicator comm_{MPI_COMM_WORLD};
  int last_ = comm_.num_mpi_ranks() - 1;
};

TEST_F(Inputs, EqualOnesPass) {
  agree_on_inputs({}, comm_);
  agree_on_inputs({{"seed", "7"}, {"stages", ""}}, comm_);
  agree_on_numbers("lengths", "sample", std::vector<std::int64_t>{}, comm_);
  agree_on_numbers("lengths", "sample", std::vector<std::int64_t>{3, 4}, comm_);
}

TEST_F(Inputs, NameWhatDiffersTheValuesAndTheRanks) {
  const Evidence usual = {{"seed", "7"}, {"sweeps", "20"}};
  expect_refused(usual, {{"seed", "7"}, {"sweeps", "30"}}, "sweeps is 20 on rank 0 and 30");
  expect_refused(usual, {{"seed", "9"}, {"sweeps", "30"}}, "seed is 7 on rank 0 and 9");
}

TEST_F(Inputs, MayBeMissingOnARank) {
  const Evidence usual = {{"seed", "7"}, {"sweeps", "20"}};
  expect_refused(usual, {{"seed", "7"}}, "sweeps is 20 on rank 0 and not given");
  expect_refused(usual, {}, "seed is 7 on rank 0 and not given");
  expect_refused({}, usual, "seed is not given on rank 0 and 7");
  expect_refused(
      usual, {{"seed", "7"}, {"time limit", "1"}, {"sweeps", "20"}},
      "time limit is not given on rank 0 and 1"
  );
}

TEST_F(Inputs, BordersBetweenNamesAndValuesCount) {
  expect_refused({{"ab", "c"}}, {{"a", "bc"}}, "ab is c on rank 0 and not given");
  expect_refused({{"a", ""}, {"", "b"}}, {{"a", "b"}}, "a is  on rank 0 and b");
}

TEST_F(Inputs, LongValuesAreCut) {
  expect_refused(
      {{"layers", std::string(5000, 'x')}}, {{"layers", "y"}},
      "layers is " + std::string(200, 'x') + "… on rank 0 and y"
  );
}

TEST_F(Inputs, NumbersNameTheFirstThatDiffers) {
  if (last_ == 0) {
    return;
  }
  const std::vector<std::int64_t> usual = {5, 6, 7, 8};
  const auto expect = [&](const std::vector<std::int64_t>& odd, const std::string& text) {
    expect_error(ErrorCode::kInputDisagreement, fmt::format("{} on rank {}", text, last_), [&] {
      agree_on_numbers("lengths.npy", "sample", differing(usual, odd), comm_);
    });
  };
  expect({5, 6, 9, 1}, "lengths.npy: sample 2 is 7 on rank 0 and 9");
  expect({5, 6, 7}, "lengths.npy has 4 elements on rank 0 and 3");
  expect({}, "lengths.npy has 4 elements on rank 0 and 0");
}

}  // namespace
}  // namespace routepack::comm

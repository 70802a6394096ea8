// What is trained on: samples with their inputs and targets, and the routing that a rollout
// engine has recorded for every step. Pure functions of the seed.
#pragma once

#include <cstdint>
#include <vector>

#include "routepack/layout.hpp"
#include "training/shape.hpp"

namespace routepack::training {

class Replay {
 public:
  Replay(const Shape& shape, int num_samples, std::uint64_t seed);

  [[nodiscard]] int num_samples() const { return static_cast<int>(lengths_.size()); }
  [[nodiscard]] int num_tokens() const;
  [[nodiscard]] int length_of(SampleId sample) const { return lengths_[sample]; }

  // Hidden values of a token before the first layer, in (-1, 1).
  [[nodiscard]] std::vector<double> input(SampleId sample, int token) const;
  // What a fixed random teacher makes of it.
  [[nodiscard]] std::vector<double> target(SampleId sample, int token) const;
  // The experts of a token: distinct, in the order in which the router ranked them.
  [[nodiscard]] std::vector<ExpertId> route(int step, SampleId sample, int token, MoeLayer layer)
      const;

  // A start value in (-1, 1), of an element of an expert's parameter or of its router row.
  [[nodiscard]] double expert_value(MoeLayer layer, ExpertId expert, Parameter parameter, int at)
      const;
  [[nodiscard]] double router_value(MoeLayer layer, ExpertId expert, int at) const;

 private:
  [[nodiscard]] double draw(std::uint32_t owner, std::uint32_t step, int at) const;

  Shape shape_;
  std::uint64_t seed_;
  IndexVector<SampleId, int> lengths_;
  std::vector<double> teacher_;  // [hidden, hidden]
};

// The samples dealt at random over the cells of so many rows, none empty.
[[nodiscard]] CellLayout deal_samples(
    const Shape& shape, int num_samples, int num_rows, std::uint64_t seed
);

}  // namespace routepack::training

#include "training/replay.hpp"

#include <cmath>

#include "random/stream.hpp"

namespace routepack::training {
namespace {

constexpr int kLongestSample = 7;

// Owners of streams: samples and experts count from 0 in ranges of their own.
enum Owner : std::uint32_t {
  kOfReplay = 1,
  kOfTeacher,
  kOfLayout,
  kOfSample = 1000,
  kOfRoute = 100000,
  kOfExpert = 200000,
};

}  // namespace

Replay::Replay(const Shape& shape, int num_samples, std::uint64_t seed)
    : shape_(shape), seed_(seed) {
  const random::Stream stream{seed, random::Purpose::kTests, kOfReplay};
  for (int sample = 0; sample < num_samples; ++sample) {
    lengths_.push_back(
        1 +
        static_cast<int>(stream.at(0, static_cast<std::uint64_t>(sample)).below(0, kLongestSample))
    );
  }
  for (int at = 0; at < shape.hidden * shape.hidden; ++at) {
    teacher_.push_back(draw(kOfTeacher, 0, at));
  }
}

int Replay::num_tokens() const {
  int total = 0;
  for (const int length : lengths_) {
    total += length;
  }
  return total;
}

double Replay::draw(std::uint32_t owner, std::uint32_t step, int at) const {
  const random::Stream stream{seed_, random::Purpose::kTests, owner};
  return 2.0 * stream.at(step, static_cast<std::uint64_t>(at)).unit(0) - 1.0;
}

std::vector<double> Replay::input(SampleId sample, int token) const {
  std::vector<double> values;
  for (int at = 0; at < shape_.hidden; ++at) {
    values.push_back(draw(
        kOfSample + static_cast<std::uint32_t>(sample.value()), static_cast<std::uint32_t>(token),
        at
    ));
  }
  return values;
}

std::vector<double> Replay::target(SampleId sample, int token) const {
  const std::vector<double> input_values = input(sample, token);
  std::vector<double> values;
  for (std::size_t row = 0; row < input_values.size(); ++row) {
    double sum = 0.0;
    for (std::size_t column = 0; column < input_values.size(); ++column) {
      sum += teacher_[row * input_values.size() + column] * input_values[column];
    }
    values.push_back(std::tanh(sum));
  }
  return values;
}

std::vector<ExpertId> Replay::route(int step, SampleId sample, int token, MoeLayer layer) const {
  const random::Stream stream{
      seed_, random::Purpose::kTests, kOfRoute + static_cast<std::uint32_t>(sample.value())};
  const int draw_number = (step * shape_.num_layers + layer.value()) * kLongestSample + token;
  const std::vector<std::int32_t> order = random::random_permutation(
      stream, static_cast<std::uint32_t>(draw_number), shape_.num_experts
  );
  std::vector<ExpertId> experts;
  for (int choice = 0; choice < shape_.top_k; ++choice) {
    experts.emplace_back(order[static_cast<std::size_t>(choice)]);
  }
  return experts;
}

double Replay::expert_value(MoeLayer layer, ExpertId expert, Parameter parameter, int at) const {
  const int number = layer.value() * shape_.num_experts + expert.value();
  return draw(
      kOfExpert + static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(parameter), at
  );
}

double Replay::router_value(MoeLayer layer, ExpertId expert, int at) const {
  const int number = layer.value() * shape_.num_experts + expert.value();
  return draw(kOfExpert + static_cast<std::uint32_t>(number), 100, at);
}

CellLayout deal_samples(const Shape& shape, int num_samples, int num_rows, std::uint64_t seed) {
  CellLayout layout{
      num_rows, shape.dp(), IndexVector<SampleId, CellId>{static_cast<std::size_t>(num_samples)}};
  const random::Stream stream{seed, random::Purpose::kTests, kOfLayout};
  const std::vector<std::int32_t> order = random::random_permutation(stream, 0, num_samples);
  for (std::size_t n = 0; n < order.size(); ++n) {
    layout.cell_of_sample[SampleId{order[n]}] =
        CellId{static_cast<std::int32_t>(n) % layout.num_cells()};
  }
  return layout;
}

}  // namespace routepack::training

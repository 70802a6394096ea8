#include "cli/option_parser.hpp"
#include "cli/plan_options.hpp"
#include "fuzz/targets.hpp"
#include "support/temp_folder.hpp"

namespace routepack::fuzz {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (begin < text.size()) {
    lines.push_back(text.substr(begin));
  }
  return lines;
}

void parse(const std::vector<std::string>& arguments) {
  cli::PlanRequest request;
  cli::OptionTable table = cli::plan_options(request);
  cli::parse_options(table, arguments);
  if (request.common.help || request.common.version) {
    return;
  }
  const PlanOptions options = cli::completed(request).options;
  expect(options.cost.capacity_tokens >= 1, "the capacity is below 1");
  expect(options.topology.dp % options.topology.dp_per_shard() == 0, "dp is no whole shards");
  validate_topology(options.topology, 0);
  validate_cost(options.cost);
}

}  // namespace

void fuzz_options(Bytes bytes) {
  const std::vector<std::string> files = split_files(bytes);
  std::vector<std::string> arguments = lines_of(files[0]);
  if (files.size() > 1) {
    const std::string path = scratch("plan.cfg");
    testing::write_file(path, files[1]);
    arguments.insert(arguments.end(), {"--config", path});
  }
  (void)outcome_of([&] {
    parse(arguments);
    return true;
  });
}

}  // namespace routepack::fuzz

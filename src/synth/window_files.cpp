#include "synth/window_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "io/output_file.hpp"
#include "io/window_reader.hpp"

namespace routepack::synth {
namespace {

namespace fs = std::filesystem;

void check_target(const fs::path& path, bool force) {
  if (!fs::exists(fs::symlink_status(path))) {
    const fs::path parent = fs::absolute(path).parent_path();
    RP_CHECK(
        fs::is_directory(parent), ErrorCode::kUsage, "{} cannot be made: {} is no folder",
        path.string(), parent.string()
    );
    return;
  }
  RP_CHECK(fs::is_directory(path), ErrorCode::kUsage, "{} exists and is no folder", path.string());
  RP_CHECK(
      force || fs::is_empty(path) || fs::exists(path / "window.json"), ErrorCode::kUsage,
      "{} holds files but no window; --force writes into it", path.string()
  );
}

[[noreturn]] void fail_io(const std::string& path, const char* verb) {
  base::fail(ErrorCode::kFileMalformed, "cannot {} {}: {}", verb, path, std::strerror(errno));
}

void write_at(
    int fd, const std::string& path, std::span<const std::byte> bytes, std::int64_t offset
) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail_io(path, "write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

std::vector<std::int64_t> row_offsets_of(
    const SynthOptions& options, const std::vector<SampleTokens>& lengths
) {
  std::vector<std::int64_t> offsets = {0};
  for (const SampleTokens& tokens : lengths) {
    offsets.push_back(offsets.back() + tokens.total() - (options.last_route ? 0 : 1));
  }
  return offsets;
}

// The values as the narrower integers that the file holds. The caller knows that they fit.
template <class Narrow, class Wide>
std::vector<Narrow> narrowed(const std::vector<Wide>& values) {
  std::vector<Narrow> narrow;
  narrow.reserve(values.size());
  std::ranges::transform(values, std::back_inserter(narrow), [](Wide value) {
    return static_cast<Narrow>(value);
  });
  return narrow;
}

template <class T>
void write_elements(NpySliceWriter& file, std::int64_t first, const std::vector<T>& values) {
  file.write(first, std::as_bytes(std::span<const T>(values)));
}

void write_vector(const std::string& path, const std::vector<std::int64_t>& values) {
  io::write_npy<std::int64_t>(path, values, {static_cast<std::int64_t>(values.size())});
}

std::string window_json(const SynthOptions& options) {
  std::string name = options.name;
  if (name.empty()) {
    name = options.model.name;
    if (options.pattern != Pattern::kNone) {
      name += "-" + std::string(name_of(options.pattern));
    }
  }
  const nlohmann::ordered_json json = {
      {"format", "routepack-window/1"},
      {"num_experts", options.model.experts},
      {"top_k", options.model.top_k},
      {"moe_layers", options.model.moe_layers()},
      {"num_layers", options.model.layers},
      {"ep_demand", options.form == WindowForm::kRoutes ? "routes" : "counts"},
      {"groups", "groups.npy"},
      {"name", name},
      {"source", describe(options)},
  };
  return json.dump(1) + "\n";
}

}  // namespace

StagedWindow::StagedWindow(const std::string& path, bool force) {
  try {
    // Links resolved: the temporary folder has to be beside the folder that a link leads to.
    fs::path clean = fs::weakly_canonical(fs::absolute(path));
    if (!clean.has_filename()) {
      clean = clean.parent_path();  // a slash at the end
    }
    check_target(clean, force);
    path_ = clean.string();
    const std::string temporary = io::temporary_path(io::folder_of(path_), "partial");
    leftover_.emplace(io::LeftoverKind::kWindow, temporary);
    RP_CHECK(
        fs::create_directory(temporary), ErrorCode::kUsage, "{} cannot be made: {} exists", path,
        temporary
    );
    temporary_ = temporary;
  } catch (const fs::filesystem_error& error) {
    base::fail(ErrorCode::kUsage, "{} cannot be made: {}", path, error.code().message());
  }
}

StagedWindow::~StagedWindow() {
  std::error_code ignored;
  if (!temporary_.empty()) {
    fs::remove_all(temporary_, ignored);
  }
}

void StagedWindow::commit() {
  const io::SignalPause
      whole;  // an older window that is half replaced would be lost, and the new one
  try {
    if (!fs::exists(path_) || fs::is_empty(path_)) {
      fs::rename(temporary_, path_);
      temporary_.clear();
      return;
    }
    for (const char* file : io::kWindowFiles) {
      fs::remove(fs::path(path_) / file);
    }
    for (std::size_t file = io::kWindowFiles.size(); file > 0; --file) {
      const fs::path staged = fs::path(temporary_) / io::kWindowFiles[file - 1];
      if (fs::exists(staged)) {
        fs::rename(staged, fs::path(path_) / io::kWindowFiles[file - 1]);
      }
    }
    fs::remove(temporary_);
    temporary_.clear();
  } catch (const fs::filesystem_error& error) {
    base::fail(ErrorCode::kFileMalformed, "cannot write {}: {}", path_, error.code().message());
  }
}

void create_npy(
    const std::string& path, io::NpyDtype dtype, const std::vector<std::int64_t>& shape
) {
  const std::string header = io::make_npy_header(dtype, shape);
  std::int64_t bytes = io::bytes_of(dtype);
  for (const std::int64_t extent : shape) {
    bytes = base::checked_multiply(bytes, extent, "array shape");
  }
  bytes = base::checked_add(bytes, static_cast<std::int64_t>(header.size()), "array shape");
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    fail_io(path, "create");
  }
  int code = ftruncate(fd, bytes);
  if (code == 0) {
    const ssize_t written = pwrite(fd, header.data(), header.size(), 0);
    code = std::cmp_equal(written, header.size()) ? 0 : -1;
  }
  if (close(fd) != 0 || code != 0) {
    fail_io(path, "write");
  }
}

NpySliceWriter::NpySliceWriter(
    const std::string& path, io::NpyDtype dtype, const std::vector<std::int64_t>& shape
)
    : path_(path),
      element_bytes_(io::bytes_of(dtype)),
      header_bytes_(static_cast<std::int64_t>(io::make_npy_header(dtype, shape).size())),
      fd_(open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (fd_ < 0) {
    fail_io(path_, "open");
  }
}

NpySliceWriter::~NpySliceWriter() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void NpySliceWriter::write(std::int64_t first, std::span<const std::byte> elements) {
  write_at(fd_, path_, elements, header_bytes_ + first * element_bytes_);
}

void NpySliceWriter::close() {
  const int synced = fsync(fd_);
  const int closed = ::close(std::exchange(fd_, -1));
  if (synced != 0 || closed != 0) {
    fail_io(path_, "write");
  }
}

std::int64_t RoutingArray::bytes() const {
  std::int64_t product = io::bytes_of(dtype);
  for (const std::int64_t extent : shape) {
    product = base::checked_multiply(product, extent, "size of the window");
  }
  return product;
}

RoutingArray routing_array(const SynthOptions& options, const std::vector<SampleTokens>& lengths) {
  const auto num_moe_layers = static_cast<std::int64_t>(options.model.moe_layers().size());
  RoutingArray array;
  if (options.form == WindowForm::kRoutes) {
    array.file = "routed_experts.npy";
    constexpr int kUint8Ids = 256;
    array.dtype = options.model.experts <= kUint8Ids ? io::NpyDtype::kUint8 : io::NpyDtype::kUint16;
    array.shape = {
        row_offsets_of(options, lengths).back(),
        options.all_layers ? options.model.layers : num_moe_layers, options.model.top_k};
    return array;
  }
  std::int64_t longest = 0;
  for (const SampleTokens& tokens : lengths) {
    longest = std::max(longest, tokens.total());
  }
  array.file = "demand.npy";
  array.dtype = longest <= std::numeric_limits<std::uint16_t>::max() ? io::NpyDtype::kUint16
                                                                     : io::NpyDtype::kUint32;
  array.shape = {static_cast<std::int64_t>(lengths.size()), num_moe_layers, options.model.experts};
  return array;
}

void create_window_files(
    const std::string& folder, const SynthOptions& options, const std::vector<SampleTokens>& lengths
) {
  std::vector<std::int64_t> totals;
  std::vector<std::int64_t> prompts;
  for (const SampleTokens& tokens : lengths) {
    prompts.push_back(options.prompt_of(static_cast<std::int64_t>(totals.size())));
    totals.push_back(tokens.total());
  }
  write_vector(folder + "/lengths.npy", totals);
  write_vector(folder + "/groups.npy", prompts);
  if (options.form == WindowForm::kRoutes) {
    write_vector(folder + "/row_offsets.npy", row_offsets_of(options, lengths));
  }
  const RoutingArray array = routing_array(options, lengths);
  create_npy(folder + "/" + array.file, array.dtype, array.shape);
  io::AtomicFile json(folder + "/window.json");
  json.write(window_json(options));
  json.commit();
}

SampleWriter::SampleWriter(
    const std::string& folder, const SynthOptions& options, const std::vector<SampleTokens>& lengths
)
    : options_(options),
      lengths_(lengths),
      row_offsets_(row_offsets_of(options, lengths)),
      array_(routing_array(options, lengths)),
      file_(folder + "/" + array_.file, array_.dtype, array_.shape),
      routing_(options) {}

void SampleWriter::write(std::int64_t sample) {
  const auto at = static_cast<std::size_t>(sample);
  if (options_.form == WindowForm::kRoutes) {
    const std::vector<std::uint16_t> ids = routing_.routes(sample, lengths_[at]);
    const std::int64_t first = row_offsets_[at] * array_.shape[1] * array_.shape[2];
    if (array_.dtype == io::NpyDtype::kUint8) {
      write_elements(file_, first, narrowed<std::uint8_t>(ids));
    } else {
      write_elements(file_, first, ids);
    }
    return;
  }
  const std::vector<std::uint32_t> demand = routing_.counts(sample, lengths_[at]);
  const std::int64_t first = sample * array_.shape[1] * array_.shape[2];
  if (array_.dtype == io::NpyDtype::kUint16) {
    write_elements(file_, first, narrowed<std::uint16_t>(demand));
  } else {
    write_elements(file_, first, demand);
  }
}

}  // namespace routepack::synth

#include "demand/route_reader.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace routepack {

RouteReader::RouteReader(const RouteView& routes, std::int64_t end_token, std::int64_t buffer_bytes)
    : file_(*routes.ids),
      bytes_per_token_(routes.bytes_per_token()),
      end_token_(end_token),
      ahead_(buffer_bytes / bytes_per_token_) {}

std::span<const std::byte> RouteReader::tokens(std::int64_t first, std::int64_t count) {
  if (first < begin_ || first + count > end_) {
    load(first, std::max(count, std::min(ahead_, end_token_ - first)));
  }
  return {
      buffer_.get() + (first - begin_) * bytes_per_token_,
      static_cast<std::size_t>(count * bytes_per_token_)};
}

void RouteReader::load(std::int64_t first, std::int64_t count) {
  RP_ASSERT(
      light, first >= 0 && first + count <= end_token_, "tokens {} to {} of {}", first,
      first + count, end_token_
  );
  begin_ = end_ = 0;  // also where reading fails
  if (count > capacity_) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(count * bytes_per_token_)
    );
    capacity_ = count;
  }
  file_.read_bytes(
      first * bytes_per_token_, {buffer_.get(), static_cast<std::size_t>(count * bytes_per_token_)}
  );
  begin_ = first;
  end_ = first + count;
}

}  // namespace routepack

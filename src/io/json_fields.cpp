#include "io/json_fields.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/check.hpp"

namespace routepack::io {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;  // a plan needs 4

struct Range {
  std::int64_t min;
  std::int64_t max;
};

// JSON leaves open which value of a repeated key counts, so such a document is refused; as is one
// of a depth that nothing here needs, before anything recurses over it.
json parse_checked(const FileCopy& file) {
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  std::vector<std::set<std::string>> open_objects;  // keys so far, outermost first
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    RP_CHECK(
        !opens || depth < kMaxDepth, ErrorCode::kFileMalformed,
        "{} nests lists and objects more than {} deep", file.path(), kMaxDepth
    );
    if (event == json::parse_event_t::object_start) {
      open_objects.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_objects.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      RP_CHECK(
          open_objects.back().insert(key).second, ErrorCode::kFileMalformed,
          "{} has the key '{}' twice in one object", file.path(), key
      );
    }
    return true;
  };
  return json::parse(text, text + file.bytes().size(), watch);
}

const json& find(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  RP_CHECK(found != object.end(), ErrorCode::kFileMalformed, "{} has no key '{}'", where, key);
  return *found;
}

// Overloads on the result: an integer, or lists of any depth; `what` names the value in messages.
void convert(const json& value, Range range, const std::string& what, std::int64_t& result) {
  RP_CHECK(
      value.is_number_integer(), ErrorCode::kFileMalformed, "{} is {}, expected an integer", what,
      value.is_number() ? value.dump() : value.type_name()
  );
  const bool fits =
      !value.is_number_unsigned() || std::in_range<std::int64_t>(value.get<std::uint64_t>());
  RP_CHECK(
      fits && value.get<std::int64_t>() >= range.min && value.get<std::int64_t>() <= range.max,
      ErrorCode::kNumberOutOfRange, "{} is {}, allowed are {} to {}", what, value.dump(), range.min,
      range.max
  );
  result = value.get<std::int64_t>();
}

template <class T>
void convert(const json& value, Range range, const std::string& what, std::vector<T>& result) {
  RP_CHECK(
      value.is_array(), ErrorCode::kFileMalformed, "{} is {}, expected a list", what,
      value.type_name()
  );
  result.resize(value.size());
  for (std::size_t at = 0; at < value.size(); ++at) {
    convert(value[at], range, fmt::format("{}[{}]", what, at), result[at]);
  }
}

template <class T>
T converted(const json& object, const char* key, Range range, const std::string& where) {
  T result{};
  convert(find(object, key, where), range, fmt::format("{}: '{}'", where, key), result);
  return result;
}

}  // namespace

// Points into the document, which it keeps alive: a copy of a part would cost its size again.
struct JsonFields::Value {
  std::shared_ptr<const json> object;
};

JsonFields::JsonFields(std::shared_ptr<const Value> value, std::string where)
    : value_(std::move(value)), where_(std::move(where)) {
  RP_CHECK(
      value_->object->is_object(), ErrorCode::kFileMalformed,
      "{}: expected a JSON object, found {}", where_, value_->object->type_name()
  );
}

JsonFields JsonFields::read(const FileCopy& file) {
  json document;
  try {
    document = parse_checked(file);
  } catch (const json::exception& error) {
    base::fail(ErrorCode::kFileMalformed, "{} is no JSON document: {}", file.path(), error.what());
  }
  return JsonFields(
      std::make_shared<const Value>(Value{std::make_shared<const json>(std::move(document))}),
      file.path()
  );
}

bool JsonFields::has(const char* key) const { return value_->object->contains(key); }

std::string JsonFields::text(const char* key) const {
  const json& value = find(*value_->object, key, where_);
  RP_CHECK(
      value.is_string(), ErrorCode::kFileMalformed, "{}: '{}' is {}, expected a string", where_,
      key, value.type_name()
  );
  return value.get<std::string>();
}

std::int64_t JsonFields::integer(const char* key, std::int64_t min, std::int64_t max) const {
  return converted<std::int64_t>(*value_->object, key, {min, max}, where_);
}

std::vector<std::int64_t> JsonFields::integers(const char* key, std::int64_t min, std::int64_t max)
    const {
  return converted<std::vector<std::int64_t>>(*value_->object, key, {min, max}, where_);
}

std::vector<std::vector<std::int64_t>> JsonFields::integer_lists(
    const char* key, std::int64_t min, std::int64_t max
) const {
  return converted<std::vector<std::vector<std::int64_t>>>(
      *value_->object, key, {min, max}, where_
  );
}

std::vector<std::vector<std::vector<std::int64_t>>> JsonFields::integer_tables(
    const char* key, std::int64_t min, std::int64_t max
) const {
  return converted<std::vector<std::vector<std::vector<std::int64_t>>>>(
      *value_->object, key, {min, max}, where_
  );
}

JsonFields JsonFields::object(const char* key) const {
  return JsonFields(
      std::make_shared<const Value>(Value{{value_->object, &find(*value_->object, key, where_)}}),
      fmt::format("{}: '{}'", where_, key)
  );
}

}  // namespace routepack::io

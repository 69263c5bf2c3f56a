#include "row_codec.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace edgejoule::driver {
namespace {

constexpr std::size_t length_bytes = 4;
static_assert(sizeof(std::uint32_t) == length_bytes);

void append_part(std::string_view part, std::string& bytes) {
  if (part.size() > std::numeric_limits<std::int32_t>::max()) {
    throw std::length_error("a field of a row exceeds 2^31 - 1 bytes");
  }
  const auto length = static_cast<std::uint32_t>(part.size());
  const char head[length_bytes] = {static_cast<char>(length >> 24U), static_cast<char>(length >> 16U),
                                   static_cast<char>(length >> 8U), static_cast<char>(length)};
  bytes.append(head, length_bytes);
  bytes.append(part);
}

std::uint32_t byte_at(std::string_view bytes, std::size_t index) { return static_cast<unsigned char>(bytes[index]); }

// Removes one part from the front of `bytes`. Returns false if it is incomplete.
bool take_part(std::string_view& bytes, std::string_view& part) {
  if (bytes.size() < length_bytes) return false;
  const std::size_t length =
      byte_at(bytes, 0) << 24U | byte_at(bytes, 1) << 16U | byte_at(bytes, 2) << 8U | byte_at(bytes, 3);
  if (bytes.size() - length_bytes < length) return false;
  part = bytes.substr(length_bytes, length);
  bytes.remove_prefix(length_bytes + length);
  return true;
}

bool wanted(FieldNames names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void encode_row(Fields fields, std::string& bytes) {
  bytes.clear();
  for (const Field& field : fields) {
    append_part(field.name, bytes);
    append_part(field.value, bytes);
  }
}

std::string_view stored_row(Fields fields, std::string& bytes) {
  if (is_raw(fields)) return fields.front().value;
  encode_row(fields, bytes);
  return bytes;
}

bool decode_row(std::string_view bytes, FieldNames names, std::vector<Field>& fields) {
  fields.clear();
  if (is_raw(names)) {
    fields.push_back({"", bytes});
    return true;
  }
  if (bytes.empty()) return false;
  while (!bytes.empty()) {
    Field field;
    if (!take_part(bytes, field.name) || !take_part(bytes, field.value)) return false;
    if (wanted(names, field.name)) fields.push_back(field);
  }
  return names.empty() || fields.size() == names.size();
}

void change_fields(std::vector<Field>& fields, Fields changes) {
  for (const Field& change : changes) {
    const auto same =
        std::find_if(fields.begin(), fields.end(), [&change](const Field& field) { return field.name == change.name; });
    if (same == fields.end()) {
      fields.push_back(change);
    } else {
      same->value = change.value;
    }
  }
}

}  // namespace edgejoule::driver

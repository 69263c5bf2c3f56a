// How key-value stores keep a row: all of its fields in one value.
//
// Format, repeated once per field, lengths as 32-bit big-endian:
//   name length | name | value length | value
// This is the layout of YCSB's own RocksDB binding, so that each reads what the other wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapter.h"

namespace edgejoule::driver {

// Replaces `bytes` by the encoded row.
void encode_row(Fields fields, std::string& bytes);

// Fills `fields` with views into `bytes`: the named ones in the order stored, all when `names` is empty. False when
// the bytes are not a row or lack a named field.
[[nodiscard]] bool decode_row(std::string_view bytes, FieldNames names, std::vector<Field>& fields);

// Replaces the values of `fields` by those of `changes`; appends what is new.
void change_fields(std::vector<Field>& fields, Fields changes);

}  // namespace edgejoule::driver

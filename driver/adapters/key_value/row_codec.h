// How key-value stores keep a row: all of its fields in one value.
//
// Format, repeated once per field, lengths as 32-bit big-endian:
//   name length | name | value length | value
// This is the layout of YCSB's own RocksDB binding, so that each reads what the other wrote.
//
// A raw row is one field without a name: its value alone is kept, as db_bench keeps it. It is read by asking for the
// field without a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

// True for the fields of a raw row.
[[nodiscard]] inline bool is_raw(Fields fields) { return fields.size() == 1 && fields.front().name.empty(); }
[[nodiscard]] inline bool is_raw(FieldNames names) { return names.size() == 1 && names.front().empty(); }

// Replaces `bytes` by the encoded row, which is not raw.
void encode_row(Fields fields, std::string& bytes);

// What is kept of the row: the value of a raw row itself, else the row encoded into `bytes`.
[[nodiscard]] std::string_view stored_row(Fields fields, std::string& bytes);

// Fills `fields` with views into `bytes`: the named ones in the order stored, all when `names` is empty, the whole
// when a raw row is asked for. False when the bytes are not a row or lack a named field.
[[nodiscard]] bool decode_row(std::string_view bytes, FieldNames names, std::vector<Field>& fields);

// Replaces the values of `fields` by those of `changes`; appends what is new.
void change_fields(std::vector<Field>& fields, Fields changes);

}  // namespace edgejoule::driver

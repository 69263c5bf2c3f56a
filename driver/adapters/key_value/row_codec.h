// How key-value stores encode a row: all fields in one value.
//
// Format, repeated once per field, lengths as 32-bit big-endian:
//   name length | name | value length | value
// YCSB's RocksDB binding has the same layout, so each reads the other's rows.
//
// A raw row is a single field without a name. Only its value is stored, as in db_bench. A read of the field "" returns
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

// True for the fields of a raw row.
[[nodiscard]] inline bool is_raw(Fields fields) { return fields.size() == 1 && fields.front().name.empty(); }
[[nodiscard]] inline bool is_raw(FieldNames names) { return names.size() == 1 && names.front().empty(); }

// Replaces `bytes` by the encoded row, which must not be raw.
void encode_row(Fields fields, std::string& bytes);

// The stored form of the row: the value of a raw row itself, otherwise the row encoded into `bytes`.
[[nodiscard]] std::string_view stored_row(Fields fields, std::string& bytes);

// Fills `fields` with views into `bytes`: the named fields in the order stored, or all if `names` is empty. A request
// for the field "" returns all bytes as a raw row. Returns false if the bytes are not a row or lack a named field.
[[nodiscard]] bool decode_row(std::string_view bytes, FieldNames names, std::vector<Field>& fields);

// Replaces the values of `fields` by those of `changes` and appends new fields.
void change_fields(std::vector<Field>& fields, Fields changes);

}  // namespace edgejoule::driver

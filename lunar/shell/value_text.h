// Values as text, and back.
#pragma once

#include <string>
#include <string_view>

#include "csv.h"
#include "lunar.h"

namespace shell {

// As SQL writes them (20.5, TRUE, NULL, X'0aff'), but TEXT without quotes: in it a backslash, characters that are not
// printable character and, if it is not 0, the separator have a backslash before them (\n, \x1b, \|), so that a row is
// a line.
std::string plain_text(const lunar_value& value, char separator);
std::string plain_text(std::string_view name);
// A message for a terminal: a control character, which a name in it may have, is written as \x1b. Lines stay lines.
std::string message_text(std::string_view message);
std::string json_text(const lunar_value& value);
std::string json_text(const std::string& text);
// NULL is an empty field, empty TEXT is "".
void append_csv(std::string& line, const lunar_value& value);

// A literal of SQL that reads back as the same value. NaN, for which SQL has no literal, becomes NULL.
std::string sql_text(const lunar_value& value);

// The other way: what append_csv wrote for a column of this type becomes the same value; TEXT and BLOB stay in the
// field, or in bytes. Throws Failure, with a reason that begins with what the field has.
lunar_value value_of(CsvField& field, lunar_type type);

}  // namespace shell

#include "schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "failure.h"

namespace shell {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string found_name(Volume& volume, const std::string& wanted) {
  const auto names = table_names(volume);
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  const auto found = std::ranges::find_if(names, [&](const auto& name) { return same_name(name, wanted); });
  if (found == names.end()) throw Failure(fmt::format("no table \"{}\"; .tables lists the tables", wanted));
  return *found;
}

const char* type_name(std::uint8_t type) {
  static constexpr const char* names[] = {"",     "TINYINT", "SMALLINT", "INT", "INTEGER",
                                          "REAL", "BOOLEAN", "TEXT",     "BLOB"};
  return type < std::size(names) ? names[type] : "";
}

}  // namespace

std::string sql_name(std::string_view name) {
  constexpr std::string_view reserved[] = {"and",   "as",   "between", "create", "delete", "drop",    "false",  "from",
                                           "group", "in",   "index",   "insert", "into",   "is",      "like",   "limit",
                                           "not",   "null", "on",      "or",     "order",  "primary", "select", "set",
                                           "table", "true", "unique",  "update", "values", "where"};
  const auto is_letter = [](char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; };
  const bool bare = !name.empty() && is_letter(name[0]) &&
                    std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); }) &&
                    std::ranges::none_of(reserved, [&](auto word) { return same_name(word, name); });
  if (bare) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> table_names(Volume& volume) {
  std::vector<std::string> names;
  char name[LUNAR_NAME_MAX + 1];
  int error = 0;
  for (std::uint16_t number = 0; (error = lunar_table_list(volume.handle(), &number, name)) == 0;)
    names.emplace_back(name);
  if (error != LUNAR_E_NO_TABLE) throw Failure(volume.explain(error));
  std::ranges::sort(names);
  return names;
}

Table::Table(Volume& volume, const std::string& wanted) : name(found_name(volume, wanted)) {
  int error = lunar_table_open(volume.handle(), name.c_str(), &table);
  if (error == 0) error = lunar_table_schema(&table, &schema);
  lunar_index_info index{};
  for (std::uint8_t at = 0; error == 0 && (error = lunar_index_list(&table, &at, &index)) == 0;)
    indexes.push_back(index);
  if (error != LUNAR_E_NOT_FOUND) throw Failure(volume.explain(error));
}

int column_of(const lunar_schema& schema, std::string_view name) {
  for (int i = 0; i < schema.column_count; ++i)
    if (schema.columns[i].name == name) return i;
  for (int i = 0; i < schema.column_count; ++i)
    if (same_name(schema.columns[i].name, name)) return i;
  return -1;
}

std::string create_table_statement(const Table& table) {
  const auto& schema = table.schema;
  std::string columns;
  for (int i = 0; i < schema.column_count; ++i) {
    const auto& column = schema.columns[i];
    columns += fmt::format("{}{} {}", i > 0 ? ", " : "", sql_name(column.name), type_name(column.type));
    if (i == schema.key)
      columns += schema.index == LUNAR_INDEX_HASH ? " PRIMARY KEY USING HASH" : " PRIMARY KEY";
    else if ((column.flags & LUNAR_NOT_NULL) != 0)
      columns += " NOT NULL";
  }
  static constexpr const char* rings[] = {"", " RING ROWS ", " RING BYTES ", " RING AGE "};
  const std::string ring = schema.ring != LUNAR_RING_NONE && schema.ring < std::size(rings)
                               ? rings[schema.ring] + std::to_string(schema.ring_limit)
                               : "";
  return fmt::format("CREATE TABLE {} ({}){}{};\n", sql_name(table.name), columns, ring,
                     schema.checksum != 0 ? " CHECKSUM" : "");
}

std::string create_index_statements(const Table& table) {
  std::string text;
  for (const auto& index : table.indexes)
    text += fmt::format("CREATE INDEX {} ON {} ({}){};\n", sql_name(index.name), sql_name(table.name),
                        sql_name(table.schema.columns[index.column].name),
                        index.kind == LUNAR_INDEX_HASH ? " USING HASH" : "");
  return text;
}

}  // namespace shell

// The tables of a volume, as SQL finds them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lunar.h"
#include "volume.h"

namespace shell {

std::vector<std::string> table_names(Volume& volume);

// A table that is open. Throws Failure for an unknown name.
struct Table {
  Table(Volume& volume, const std::string& wanted);

  std::string name;
  lunar_table table{};
  lunar_schema schema{};
  std::vector<lunar_index_info> indexes;  // secondary ones
};

// The number of the column of this name, exactly or else but for the case of ASCII letters; -1: none.
int column_of(const lunar_schema& schema, std::string_view name);
// The statement that creates such a table, and those that create its indexes: a line each.
std::string create_table_statement(const Table& table);
std::string create_index_statements(const Table& table);
std::string sql_name(std::string_view name);  // in quotes where SQL would not read it as a name

}  // namespace shell

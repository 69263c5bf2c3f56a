#include "table_options.h"

#include <rocksdb/env.h>

#include <sstream>
#include <vector>

#include "rocksdb_text.h"

namespace eco {
namespace {

std::optional<std::string> newest(const std::vector<std::string>& names) {
  std::optional<std::string> best;
  std::uint64_t best_number = 0;
  for (const auto& name : names) {
    if (!name.starts_with("OPTIONS-")) continue;
    const auto number = rocksdb_text::number<std::uint64_t>(std::string_view(name).substr(8));  // not OPTIONS-N.dbtmp
    if (number && (!best || *number > best_number)) best = name, best_number = *number;
  }
  return best;
}

}  // namespace

std::optional<std::string> table_options_in(const std::string& text, const std::string& column_family) {
  const std::string section = "[TableOptions/BlockBasedTable \"" + column_family + "\"]";
  std::istringstream lines(text);
  std::string options;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      if (inside) break;
      inside = line.starts_with(section);
      if (inside) options = "id=BlockBasedTable;";
    } else if (inside) {
      options += line + ';';
    }
  }
  if (options.empty()) return std::nullopt;
  return options;
}

std::optional<std::string> table_options(rocksdb::FileSystem& files, const std::string& database,
                                         const std::string& column_family, std::string& why) {
  std::vector<std::string> names;
  auto status = files.GetChildren(database, {}, &names, nullptr);
  const auto name = newest(names);
  std::string text;
  if (status.ok() && name) status = rocksdb::ReadFileToString(&files, database + '/' + *name, &text);
  if (!status.ok() || !name) {
    why = "the OPTIONS file: " + (status.ok() ? std::string("there is none") : status.ToString());
    return std::nullopt;
  }
  auto options = table_options_in(text, column_family);
  if (!options) why = *name + " has no block-based table of column family " + column_family;
  return options;
}

}  // namespace eco

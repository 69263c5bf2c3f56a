#include "options_file.h"

#include <fmt/format.h>
#include <rocksdb/env.h>

#include <sstream>
#include <vector>

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

std::optional<OptionsFile> options_in(const std::string& text, const std::string& column_family, std::string& why) {
  const std::string quoted = " \"" + column_family + "\"]";
  OptionsFile options;
  rocksdb_text::Fields table, others;
  auto* section = &others;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      section = line == "[DBOptions]"                              ? &options.db
                : line == "[CFOptions" + quoted                    ? &options.family
                : line == "[TableOptions/BlockBasedTable" + quoted ? &table
                                                                   : &others;
    } else if (const auto equals = line.find('='); equals != std::string::npos) {
      section->emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  if (table.empty()) {
    why = "no block-based table of column family " + column_family;
    return std::nullopt;
  }
  options.table = "id=BlockBasedTable;";
  for (const auto& [name, value] : table) options.table += fmt::format("{}={};", name, value);
  return options;
}

std::optional<OptionsFile> read_options_file(rocksdb::FileSystem& files, const std::string& database,
                                             std::optional<std::uint64_t> number, const std::string& column_family,
                                             std::string& why) {
  std::vector<std::string> names;
  rocksdb::IOStatus status;
  if (!number) status = files.GetChildren(database, {}, &names, nullptr);
  const auto name = number ? std::optional(fmt::format("OPTIONS-{:06}", *number)) : newest(names);
  std::string text;
  std::optional<OptionsFile> options;
  if (!status.ok() || !name) {
    why = status.ok() ? "there is none" : status.ToString();
  } else if (const auto read = rocksdb::ReadFileToString(&files, database + '/' + *name, &text); !read.ok()) {
    why = read.ToString();
  } else {
    options = options_in(text, column_family, why);
  }
  if (!options) why = "the OPTIONS file: " + why;
  return options;
}

}  // namespace eco

#include "commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "failure.h"
#include "interruption.h"
#include "schema.h"
#include "session.h"
#include "transfer.h"

namespace shell {
namespace {

using Words = std::vector<std::string>;

struct Command {
  const char *name, *arguments, *help;
  std::size_t words_min, words_max;  // of the arguments
  void (*run)(Session& session, const Words& words);
};

void write_rows(Session& session, const Words& names, const std::vector<Words>& rows) {
  session.output().begin(names);
  for (const auto& row : rows) {
    std::vector<lunar_value> values;
    for (const auto& text : row) {
      auto& value = values.emplace_back();
      value.type = LUNAR_TEXT, value.bytes = static_cast<std::uint32_t>(text.size()), value.as.data = text.data();
    }
    session.output().row(values);
  }
  session.output().end();
}

void list_tables(Session& session, const Words&) {
  std::vector<Words> rows;
  for (const auto& name : table_names(session.volume())) rows.push_back({name});
  write_rows(session, {"table"}, rows);
}

Words wanted_tables(Session& session, const Words& words) {
  return words.empty() ? table_names(session.volume()) : words;
}

// A name of somebody else's image must not move the cursor or set the title.
std::string harmless_on_a_terminal(const std::string& text) {
  if (isatty(STDOUT_FILENO) != 1) return text;
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    shown += c != '\n' && (byte < 0x20 || byte == 0x7f) ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return shown;
}

void show_schema(Session& session, const Words& words) {
  for (const auto& name : wanted_tables(session, words))
    session.output().write(harmless_on_a_terminal(create_statements(Table(session.volume(), name))));
}

void list_indexes(Session& session, const Words& words) {
  std::vector<Words> rows;
  for (const auto& name : wanted_tables(session, words)) {
    const Table table(session.volume(), name);
    const auto add = [&](const char* index, std::uint8_t column, std::uint8_t kind) {
      rows.push_back(
          {table.name, table.schema.columns[column].name, kind == LUNAR_INDEX_HASH ? "HASH" : "TREE", index});
    };
    add("primary key", table.schema.key, table.schema.index);
    for (const auto& index : table.indexes) add(index.name, index.column, index.kind);
  }
  write_rows(session, {"table", "column", "kind", "index"}, rows);
}

void check(Session& session, const Words&) {
  auto& volume = session.volume();
  lunar_findings found{};
  const interruption::Armed armed;
  const int error = lunar_check(volume.handle(), &found);
  if (interruption::pending()) throw Interrupted("interrupted");
  if (error == LUNAR_E_CORRUPT && found.problem != LUNAR_PROBLEM_NONE) {
    std::string text = fmt::format("damaged: {}", found.text);
    if (found.table[0] != 0) text += fmt::format("; table {}", found.table);
    if (found.sector != UINT32_MAX) text += fmt::format("; sector {}", found.sector);
    throw Failure(text + "; `.export TABLE FILE` saves what can be read, then make the volume anew");
  }
  if (error != 0) throw Failure(volume.explain(error));
  session.output().write(fmt::format("ok: tables: {}, rows: {}, index entries: {}, chunks: {} of {} in use\n",
                                     found.tables, found.rows, found.index_entries, found.chunks_used,
                                     found.chunks_used + found.chunks_free));
}

void show_statistics(Session& session, const Words&) {
  static constexpr const char* modes[] = {"", "none", "disorder", "metadata", "data", "full"};
  lunar_statistics stat{};
  if (const int error = lunar_stat(session.volume().handle(), &stat)) throw Failure(session.volume().explain(error));
  const auto row = [](const char* name, auto value) { return Words{name, fmt::format("{}", value)}; };
  write_rows(
      session, {"what", "value"},
      {row("mode", modes[stat.mode]), row("sector_bytes", stat.sector_bytes),
       row("block_bytes_min", stat.block_bytes_min), row("block_bytes_max", stat.block_bytes_max),
       row("log_bytes", stat.log_bytes), row("log_bytes_used", stat.log_bytes_used), row("data_bytes", stat.data_bytes),
       row("free_bytes", stat.free_bytes), row("tables", stat.tables), row("tables_max", stat.tables_max),
       row("frames", stat.frames), row("frames_dirty", stat.frames_dirty), row("checkpoints", stat.checkpoints),
       row("epoch", stat.epoch), row("reads", stat.reads), row("writes", stat.writes), row("flushes", stat.flushes),
       row("sectors_read", stat.sectors_read), row("sectors_written", stat.sectors_written)});
}

void set_mode(Session& session, const Words& words) {
  if (!session.output().set_format(words[0]))
    throw Failure(fmt::format("\"{}\" is no format; there are {}", words[0], format_names));
}

constexpr Command commands[] = {
    {".check", "", "verify the volume", 0, 0, check},
    {".export", "TABLE FILE", "write a table as CSV, a line of names first", 2, 2,
     [](Session& session, const Words& words) { export_table(session.volume(), words[0], words[1]); }},
    {".help", "", "this list", 0, 0, [](Session& session, const Words&) { session.output().write(command_help()); }},
    {".import", "FILE TABLE", "add the rows of a CSV file whose first line has the names of columns", 2, 2,
     [](Session& session, const Words& words) { import_table(session.volume(), words[0], words[1]); }},
    {".indexes", "[TABLE]", "the primary keys and indexes", 0, 1, list_indexes},
    {".mode", "FORMAT", "how results are written: list (default), csv, json or table", 1, 1, set_mode},
    {".quit", "", "leave, as Ctrl-D does", 0, 0, [](Session& session, const Words&) { session.quit(); }},
    {".read", "FILE", "run the statements of a file", 1, 1,
     [](Session& session, const Words& words) { session.read(words[0]); }},
    {".schema", "[TABLE]", "the statements that make the tables", 0, 1, show_schema},
    {".stat", "", "sizes of the volume, requests to the device since the start", 0, 0, show_statistics},
    {".tables", "", "names of the tables", 0, 0, list_tables}};

// Quotes of either kind hold a word with spaces together.
Words words_of(const std::string& line) {
  Words words;
  std::optional<std::string> word;
  char quote = 0;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
      if (!word) word.emplace();
    } else if (quote != 0 || !space) {
      if (!word) word.emplace();
      *word += c;
    } else if (word) {
      words.push_back(*word);
      word.reset();
    }
  }
  if (quote != 0) throw Failure(fmt::format("the quote {} has no end", quote));
  if (word) words.push_back(*word);
  return words;
}

}  // namespace

std::string command_help() {
  std::string text;
  for (const auto& command : commands)
    text += fmt::format("{:<20} {}\n", fmt::format("{} {}", command.name, command.arguments), command.help);
  return text;
}

void run_command(Session& session, const std::string& line) {
  auto words = words_of(line);
  const auto name = words.front();
  words.erase(words.begin());
  for (const auto& command : commands) {
    if (name != command.name) continue;
    if (words.size() < command.words_min || words.size() > command.words_max)
      throw Failure(fmt::format("usage: {} {}", command.name, command.arguments));
    command.run(session, words);
    return;
  }
  throw Failure(fmt::format("there is no command \"{}\"; .help lists them", name));
}

}  // namespace shell

#include "commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <vector>

#include "failure.h"
#include "interruption.h"
#include "schema.h"
#include "session.h"
#include "standard_files.h"
#include "transfer.h"

namespace shell {
namespace {

using Arguments = std::vector<std::string>;

struct Command {
  const char *name, *arguments, *help;
  std::size_t arguments_min, arguments_max;  // of the arguments
  void (*run)(Session& session, const Arguments& arguments);
};

void write_rows(Session& session, const Arguments& names, const std::vector<Arguments>& rows) {
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

void list_tables(Session& session, const Arguments&) {
  std::vector<Arguments> rows;
  for (const auto& name : table_names(session.volume())) rows.push_back({name});
  write_rows(session, {"table"}, rows);
}

Arguments wanted_tables(Session& session, const Arguments& arguments) {
  return arguments.empty() ? table_names(session.volume()) : arguments;
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

void show_schema(Session& session, const Arguments& arguments) {
  for (const auto& name : wanted_tables(session, arguments)) {
    const Table table(session.volume(), name);
    session.output().write(harmless_on_a_terminal(create_table_statement(table) + create_index_statements(table)));
  }
}

void list_indexes(Session& session, const Arguments& arguments) {
  std::vector<Arguments> rows;
  for (const auto& name : wanted_tables(session, arguments)) {
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

// While it lives, Ctrl-C ends lunar_check, and a terminal shows how far it has come.
class WatchedCheck {
 public:
  WatchedCheck(Volume& volume, const lunar_findings& found) : volume_(volume), found_(found) {
    volume_.watch([this] { return stops(); });
  }
  ~WatchedCheck() {
    volume_.watch(nullptr);
    if (!shown_.empty()) print_error(fmt::format("\r{:{}}\r", "", shown_.size()));
  }
  WatchedCheck(const WatchedCheck&) = delete;
  WatchedCheck& operator=(const WatchedCheck&) = delete;

 private:
  bool stops() {
    const auto now = std::chrono::steady_clock::now();
    if (on_terminal_ && now - since_ >= std::chrono::milliseconds(200)) {
      since_ = now;
      shown_ = fmt::format("checked: {} chunks, {} rows, {} index entries",
                           std::uint64_t{found_.chunks_used} + found_.chunks_free, found_.rows, found_.index_entries);
      print_error("\r" + shown_);
    }
    return interruption::pending();
  }

  Volume& volume_;
  const lunar_findings& found_;
  const bool on_terminal_ = isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::string shown_;
};

void check(Session& session, const Arguments&) {
  auto& volume = session.volume();
  lunar_findings found{};
  const int error = [&] {
    const WatchedCheck watched(volume, found);
    return lunar_check(volume.handle(), &found);
  }();
  if (interruption::pending()) throw Interrupted("interrupted");
  if (error == LUNAR_E_CORRUPT && found.problem != LUNAR_PROBLEM_NONE) {
    std::string text = fmt::format("damaged: {}", found.text);
    if (found.table[0] != 0) text += fmt::format("; table {}", found.table);
    if (found.sector != UINT32_MAX) text += fmt::format("; sector {}", found.sector);
    throw Failure(text + "; `lunar --read-only IMAGE \".export TABLE FILE\"` saves every row that can be read");
  }
  if (error != 0) throw Failure(volume.explain(error));
  session.output().write(fmt::format("ok: tables: {}, rows: {}, index entries: {}, chunks: {} of {} in use\n",
                                     found.tables, found.rows, found.index_entries, found.chunks_used,
                                     found.chunks_used + found.chunks_free));
  if (found.blocks_lost != 0)
    session.output().write(fmt::format("blocks with unreadable sectors, not used any more: {}\n", found.blocks_lost));
}

void repair(Session& session, const Arguments& arguments) {
  Table table(session.volume(), arguments[0]);
  lunar_losses losses{};
  if (const int error = lunar_repair(&table.table, &losses)) throw Failure(session.volume().explain(error));
  std::uint64_t rows = 0;
  if (const int error = lunar_count(&table.table, &rows)) throw Failure(session.volume().explain(error));
  session.output().write(
      fmt::format("{}: {} rows; given up: {} rows, {} blocks of rows\n", table.name, rows, losses.rows, losses.blocks));
}

void show_statistics(Session& session, const Arguments&) {
  static constexpr const char* modes[] = {"", "none", "disorder", "metadata", "data", "full"};
  lunar_statistics stat{};
  if (const int error = lunar_stat(session.volume().handle(), &stat)) throw Failure(session.volume().explain(error));
  const auto row = [](const char* name, auto value) { return Arguments{name, fmt::format("{}", value)}; };
  write_rows(session, {"what", "value"},
             {row("mode", modes[stat.mode]),
              row("sector_bytes", stat.sector_bytes),
              row("block_bytes_min", stat.block_bytes_min),
              row("block_bytes_max", stat.block_bytes_max),
              row("log_bytes", stat.log_bytes),
              row("log_bytes_used", stat.log_bytes_used),
              row("data_bytes", stat.data_bytes),
              row("live_bytes", stat.live_bytes),
              row("dead_bytes", stat.dead_bytes),
              row("free_bytes", stat.free_bytes),
              row("fragmented_bytes", stat.fragmented_bytes),
              row("tables", stat.tables),
              row("tables_max", stat.tables_max),
              row("frames", stat.frames),
              row("frames_dirty", stat.frames_dirty),
              row("checkpoints", stat.checkpoints),
              row("epoch", stat.epoch),
              row("reads", stat.reads),
              row("writes", stat.writes),
              row("flushes", stat.flushes),
              row("sectors_read", stat.sectors_read),
              row("sectors_written", stat.sectors_written)});
}

void set_mode(Session& session, const Arguments& arguments) {
  if (!session.output().set_format(arguments[0]))
    throw Failure(fmt::format("\"{}\" is not a format; expected {}", arguments[0], format_names));
}

void dump_volume(Session& session, const Arguments& arguments) {
  dump(session.volume(), arguments.empty() ? std::string() : arguments[0],
       [&](std::string_view text) { session.output().write(harmless_on_a_terminal(std::string(text))); });
}

constexpr Command commands[] = {
    {".check", "", "verify the volume", 0, 0, check},
    {".dump", "[FILE]", "write the whole volume as statements, which .read runs", 0, 1, dump_volume},
    {".export", "TABLE FILE", "export a table as CSV with a header", 2, 2,
     [](Session& session, const Arguments& arguments) { export_table(session.volume(), arguments[0], arguments[1]); }},
    {".help", "", "list these commands", 0, 0,
     [](Session& session, const Arguments&) { session.output().write(command_help()); }},
    {".import", "FILE TABLE", "import a CSV file; its first line names the columns", 2, 2,
     [](Session& session, const Arguments& arguments) { import_table(session.volume(), arguments[0], arguments[1]); }},
    {".indexes", "[TABLE]", "list primary keys and indexes", 0, 1, list_indexes},
    {".mode", "FORMAT", "set the format of results: list (default), csv, json or table", 1, 1, set_mode},
    {".quit", "", "leave the shell, like Ctrl-D", 0, 0, [](Session& session, const Arguments&) { session.quit(); }},
    {".read", "FILE", "run the statements of a file", 1, 1,
     [](Session& session, const Arguments& arguments) { session.read(arguments[0]); }},
    {".repair", "TABLE", "give up what cannot be read of a damaged table, and rebuild its indexes", 1, 1, repair},
    {".schema", "[TABLE]", "print the statements that create the tables", 0, 1, show_schema},
    {".stat", "", "show the volume's sizes and the requests to the device", 0, 0, show_statistics},
    {".tables", "", "list the tables", 0, 0, list_tables}};

// Quotes of either kind hold a word with spaces together; a doubled one inside is one.
Arguments arguments_of(const std::string& line) {
  Arguments arguments;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (quote != 0 && c == quote && i + 1 < line.size() && line[i + 1] == quote) {
      *word += c;
      ++i;
    } else if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
      if (!word) word.emplace();
    } else if (quote != 0 || !space) {
      if (!word) word.emplace();
      *word += c;
    } else if (word) {
      arguments.push_back(*word);
      word.reset();
    }
  }
  if (quote != 0) throw Failure(fmt::format("the quote {} is not closed", quote));
  if (word) arguments.push_back(*word);
  return arguments;
}

}  // namespace

std::string command_help() {
  std::string text;
  for (const auto& command : commands)
    text += fmt::format("{:<20} {}\n", fmt::format("{} {}", command.name, command.arguments), command.help);
  return text;
}

void run_command(Session& session, const std::string& line) {
  auto arguments = arguments_of(line);
  const auto name = arguments.front();
  arguments.erase(arguments.begin());
  for (const auto& command : commands) {
    if (name != command.name) continue;
    if (arguments.size() < command.arguments_min || arguments.size() > command.arguments_max)
      throw Failure(fmt::format("usage: {} {}", command.name, command.arguments));
    command.run(session, arguments);
    return;
  }
  throw Failure(fmt::format("unknown command \"{}\"; .help lists the commands", name));
}

}  // namespace shell

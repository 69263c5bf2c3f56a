#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "commands.h"
#include "failure.h"
#include "interruption.h"
#include "standard_files.h"
#include "value_text.h"

namespace shell {
namespace {

constexpr std::size_t memory_bytes_first = std::size_t{16} << 20;  // sorts some 400,000 rows in one pass
constexpr std::size_t memory_bytes_max = std::size_t{1} << 30;
constexpr unsigned depth_max = 16;
constexpr std::size_t columns_shown = 100;

std::size_t lines_in(std::string_view text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

bool continues_character(char c) { return (c & 0xc0) == 0x80; }

// The line of the text with the token, and carets below it, on separate lines.
std::string marked(std::string_view text, std::size_t position, std::size_t bytes) {
  const auto before = position == 0 ? std::string_view::npos : text.rfind('\n', position - 1);
  auto from = before == std::string_view::npos ? 0 : before + 1;
  auto to = std::min(text.find('\n', position), text.size());
  std::string_view start = "  ", stop;
  if (to - from > columns_shown) {
    if (position - from > columns_shown / 2) from = position - columns_shown / 2, start = "  ...";
    if (to - from > columns_shown) to = from + columns_shown, stop = "...";
    while (from < position && continues_character(text[from])) ++from;
    while (to > position && to < text.size() && continues_character(text[to])) --to;
  }
  std::string line(start), below(start.size(), ' ');
  const auto carets_to = std::min(std::max(position + bytes, position + 1), std::max(to, position + 1));
  for (auto i = from; i < std::max(to, carets_to); ++i) {
    const char c = i < to ? text[i] : ' ';
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    line += control ? ' ' : c;
    if (!continues_character(c) && i < carets_to) below += i < position ? ' ' : '^';
  }
  return fmt::format("\n{}{}\n{}", line, stop, below);
}

std::size_t beginning_of(std::string_view statement) {
  StatementScanner scanner;
  scanner.scan(statement);
  return scanner.beginning();
}

bool within(std::string_view text, const char* at) {
  return std::less_equal<>()(text.data(), at) && std::less_equal<>()(at, text.data() + text.size());
}

}  // namespace

void Session::Script::drop(std::size_t bytes) {
  first_line += lines_in(std::string_view(text).substr(0, bytes));
  text.erase(0, bytes);
  scanner = StatementScanner();
  scanner.scan(text);
}

Session::Session(Volume& volume, Output& output) : volume_(volume), output_(output) {}

void Session::run(const Lines& lines, const std::string& source) {
  Script script;
  script.source = source;
  while (!quit_) {
    const auto line = lines(script.scanner.begun());
    if (!line) break;
    take(script, *line);
  }
  if (!quit_ && script.scanner.begun()) run_statements(script, script.text);
}

void Session::interact(const Lines& lines) {
  Script script;
  while (!quit_) {
    try {
      const auto line = lines(script.scanner.begun());
      if (!line) {
        output_.write("\n");
        return;
      }
      take(script, *line);
      interruption::clear();  // it came too late
      continue;
    } catch (const Failure& failure) {
      const std::string_view text = failure.what();
      print_error(fmt::format("{}{}\n", text.empty() || interruption::pending() ? "" : "error: ", message_text(text)));
    }
    interruption::clear();
    script = Script();
    recover();
  }
}

// A device error that could not be undone: the handle is of no use any more.
void Session::recover() {
  if (lunar_sync(volume_.handle()) != LUNAR_E_FAILED) return;
  volume_.remount();
  print_error("The volume was mounted again; committed data is intact.\n");
}

void Session::read(const std::string& path) {
  if (depth_ == depth_max) throw Failure(path + ": .read is nested too deeply");
  ++depth_;
  struct Leave {
    unsigned& depth;
    ~Leave() { --depth; }
  } const leave{depth_};
  run(lines_of_file(path), path);
}

void Session::take(Script& script, const std::string& line) {
  ++script.lines;
  if (!script.scanner.begun() && script.scanner.complete() == 0) {
    if (line.starts_with('.')) {
      const auto place = script.source.empty() ? "" : fmt::format("{}:{}: ", script.source, script.lines);
      script.drop(script.text.size());
      try {
        run_command(*this, line);
      } catch (const Interrupted&) {
        throw;
      } catch (const Failure& failure) {
        throw Failure(place + failure.what());
      }
      return;
    }
  }
  if (script.text.empty()) script.first_line = script.lines;
  script.text += line + "\n";
  script.scanner.scan(script.text);
  const auto complete = script.scanner.complete();
  if (complete == 0) return;
  run_statements(script, std::string_view(script.text).substr(0, complete));
  script.drop(complete);
}

void Session::run_statements(const Script& script, std::string_view text) {
  const char* at = text.data();
  while (at < text.data() + text.size()) at = run_statement(script, text, at);
}

// Returns where the next one begins.
const char* Session::run_statement(const Script& script, std::string_view text, const char* from) {
  const auto bytes = static_cast<std::size_t>(text.data() + text.size() - from);
  if (interruption::pending()) throw Interrupted("interrupted");
  lunar_statement* statement = nullptr;
  const char* tail = nullptr;
  int error = LUNAR_E_BUFFER;
  for (auto wanted = std::max(memory_bytes_, memory_bytes_first); wanted <= memory_bytes_max; wanted *= 2) {
    if (wanted > memory_bytes_) {
      memory_ = std::make_unique_for_overwrite<std::uint64_t[]>(wanted / sizeof(std::uint64_t));
      memory_bytes_ = wanted;
    }
    error = lunar_prepare(volume_.handle(), from, bytes, memory_.get(), memory_bytes_, &statement, &tail);
    if (error != LUNAR_E_BUFFER) break;
  }
  if (error == 0 && statement != nullptr) run_prepared(statement, error);
  if (error == 0) {
    lunar_finalize(statement);
    return tail > from ? tail : text.data() + text.size();
  }
  if (interruption::pending())
    throw Interrupted(volume_.in_mode_none() ? "interrupted; the statement's changes so far remain (mode none)"
                                             : "interrupted; the statement changed nothing");
  const lunar_sql_message* message = statement != nullptr ? lunar_sql_error(statement) : nullptr;
  const bool special =
      message != nullptr && message->text[0] != 0 && message->text != std::string(lunar_error_text(error));
  std::string reason = special ? message->text : volume_.explain(error);
  const bool has_token = message != nullptr && message->token != nullptr && message->bytes > 0;
  const bool in_text = message != nullptr && message->token != nullptr && within(text, message->token);
  if (has_token) reason += fmt::format(": \"{}\"", std::string_view(message->token, message->bytes));
  const auto position =
      static_cast<std::size_t>((in_text ? message->token : from + beginning_of({from, bytes})) - text.data());
  if (!script.source.empty())
    reason = fmt::format("{}:{}: {}", script.source, script.first_line + lines_in(text.substr(0, position)), reason);
  if (in_text) reason += marked(text, position, message->bytes);
  throw Failure(reason);
}

void Session::run_prepared(lunar_statement* statement, int& error) {
  const auto columns = lunar_column_count(statement);
  if (columns == 0 && volume_.read_only())
    throw Failure("the volume is open read-only (--read-only): only SELECT and EXPLAIN are possible");
  std::vector<std::string> names;
  for (unsigned i = 0; i < columns; ++i) names.emplace_back(lunar_column_name(statement, i));
  if (columns > 0) output_.begin(names);
  const interruption::Armed armed;
  std::vector<lunar_value> values(columns);
  while ((error = lunar_step(statement)) == LUNAR_ROW) {
    for (unsigned i = 0; i < columns; ++i) values[i] = *lunar_column_value(statement, i);
    output_.row(values);
    if (interruption::pending()) throw Interrupted("interrupted");
  }
  if (error == 0 && columns > 0) output_.end();
}

}  // namespace shell

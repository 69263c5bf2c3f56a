// lunar: the command line of a volume in an image or on a block device.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "commands.h"
#include "failure.h"
#include "format.h"
#include "interruption.h"
#include "schema.h"
#include "session.h"
#include "standard_files.h"
#include "value_text.h"

namespace shell {
namespace {

struct Options {
  VolumeOptions volume;
  FormatOptions format;
  Output output;
  std::vector<std::string> files, statements;
  bool make = false;
};

constexpr const char* examples = R"help(
Examples:
  lunar --format --size 64M disk.img               make an image with an empty volume
  lunar disk.img "CREATE TABLE readings (id INTEGER PRIMARY KEY, celsius REAL)"
  lunar disk.img ".import readings.csv readings"   import a CSV file
  lunar --csv disk.img "SELECT * FROM readings WHERE id > 100" > some.csv
  lunar disk.img -f schema.sql                     run the statements of a file
  echo "SELECT COUNT(*) FROM readings;" | lunar disk.img
  lunar disk.img                                   open a prompt; .help lists its commands
  lunar --read-only /dev/sdX .tables               read a card without writing to it
  lunar bdtest check /dev/sdX                      test a card or a driver for lunar; erases it (lunar bdtest --help)

Without a prompt the first error ends the run and rolls back an open transaction. Exit codes: 0 success, 1 an error,
2 wrong usage, 130 Ctrl-C, 141 the reader of the output has ended. lunar/docs/SHELL.md has more, SQL.md the language.
)help";

// Replaces the name of a mode by its number, as CLI::CheckedTransformer does, but with a message that lists the names.
const CLI::Validator mode_number(
    [](std::string& name) {
      static const std::map<std::string, lunar_mode> modes{{"none", LUNAR_MODE_NONE},
                                                           {"disorder", LUNAR_MODE_DISORDER},
                                                           {"metadata", LUNAR_MODE_METADATA},
                                                           {"data", LUNAR_MODE_DATA},
                                                           {"full", LUNAR_MODE_FULL}};
      const auto mode = modes.find(CLI::detail::to_lower(name));
      if (mode == modes.end()) return "expected none, disorder, metadata, data or full, found " + name;
      name = std::to_string(mode->second);
      return std::string();
    },
    "");

void add_options(CLI::App& app, Options& o) {
  app.add_option("image", o.volume.path, "an image file or a block device")->required()->type_name("IMAGE");
  app.add_option("statements", o.statements, "SQL or dot commands (default: from standard input)")->type_name("TEXT");
  app.add_option("-f,--file", o.files, "statements from a file, before those of the command line (- is standard input)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--mode", o.volume.mode,
                 "what a power cut may lose while this runs; not stored in the volume (default: full)")
      ->transform(mode_number)
      ->type_name("none|disorder|metadata|data|full");
  app.add_option("--buffer", o.volume.buffer_bytes, "memory that buffers pages (default: 1M)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Range(std::size_t{32} << 10, std::size_t{64} << 20).description(""))
      ->type_name("BYTES");
  app.add_option("--sector-bytes", o.volume.sector_bytes, "512 or 4096 (default: the volume's own; --format: 512)")
      ->check(CLI::IsMember({512, 4096}).description(""))
      ->type_name("BYTES");
  app.add_flag("--read-only", o.volume.read_only, "write nothing; repairs after a power cut stay in memory");
  app.add_flag("--skip-damage", o.volume.skip_damage,
               "mount a volume whose log is damaged: later commits are lost, except with --read-only");
  const auto add_format = [&](const char* name, Format format, const char* help) {
    return app.add_flag_callback(
        name, [&o, format] { o.output.format = format; }, help);
  };
  auto* csv = add_format("--csv", Format::csv, "print results as CSV with a header");
  auto* json = add_format("--json", Format::json, "print results as JSON, one object per line");
  auto* table = add_format("--table", Format::table, "print results in columns");
  csv->excludes(json)->excludes(table);
  json->excludes(table);
  auto* make = app.add_flag("--format", o.make, "create an empty volume first")->group("Making a volume");
  const auto add = [&](CLI::Option* option) { option->needs(make)->group("Making a volume"); };
  const CLI::Validator positive(
      [](const std::string& text) {
        return text == "0" || text.starts_with('-') ? "a size is greater than 0" : std::string();
      },
      "");
  add(app.add_option("--size", o.format.bytes, "size of the image: 64M, 2G")
          ->transform(CLI::AsSizeValue(false).description(""))
          ->transform(positive)
          ->type_name("BYTES"));
  add(app.add_option("--log", o.format.log_bytes,
                     "size of the log; a transaction may fill half of it (default: a 32nd, at most 4M)")
          ->transform(CLI::AsSizeValue(false).description(""))
          ->transform(positive)
          ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 31).description(""))
          ->type_name("BYTES"));
  add(app.add_option("--tables", o.format.tables_max, "maximum of tables and secondary indexes (default: 16)")
          ->check(CLI::Range(1, 65535).description(""))
          ->type_name("N"));
  add(app.add_flag("--force", o.format.force, "overwrite existing content (never a device in use)"));
}

void make_volume(Options& o) {
  o.format.path = o.volume.path;
  if (o.volume.sector_bytes != 0) o.format.sector_bytes = o.volume.sector_bytes;
  print_error(format_volume(o.format) + "\n");
}

void work(const Options& o, Session& session) {
  for (const auto& file : o.files) session.run(lines_of_file(file), file == "-" ? "standard input" : file);
  for (const auto& statement : o.statements) session.run(lines_of_text(statement), "");
  if (!o.files.empty() || !o.statements.empty()) return;
  if (isatty(STDIN_FILENO) != 1) return session.run(lines_of_file("-"), "standard input");
  session.output().write(fmt::format("lunar {}, {}: {} tables. .help lists commands, Ctrl-D leaves.\n", LUNAR_VERSION,
                                     o.volume.path, table_names(session.volume()).size()));
  session.interact(lines_of_terminal());
}

void complain(std::string_view message) { print_error(fmt::format("lunar: {}\n", message_text(message))); }

// The exit code; what ended it early is on standard error.
template <typename Work>
int guarded(const Work& todo) {
  try {
    todo();
    return succeeded;
  } catch (const OutputClosed&) {
    return output_closed;
  } catch (const Interrupted& interruption) {
    complain(interruption.what());
    return interrupted;
  } catch (const std::exception& failure) {
    complain(failure.what());
    return failed;
  }
}

int run(Options& o) {
  std::optional<Volume> volume;
  const bool only_format = o.make && o.files.empty() && o.statements.empty();
  int code = guarded([&] {
    if (o.make) make_volume(o);
    if (!only_format) volume.emplace(o.volume);
  });
  if (!volume) return code;
  Session session(*volume, o.output);
  code = guarded([&] { work(o, session); });
  const int closing = guarded([&] {
    if (volume->close()) throw Failure("the open transaction was rolled back");
  });
  return code != succeeded ? code : closing;
}

int command_line(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "bdtest") return bdtest::command(argc - 1, argv + 1);
  Options options;
  CLI::App app("Tables on a block device: SQL, import, export, check.", "lunar");
  app.set_version_flag("--version", "lunar " LUNAR_VERSION);
  app.footer(fmt::format("Dot commands:\n{}{}", command_help(), examples));
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? succeeded : asked_wrongly;
  }
  interruption::listen();
  return run(options);
}

}  // namespace
}  // namespace shell

int main(int argc, char** argv) {
  using namespace shell;
  occupy_closed_descriptors();
  const int code = command_line(argc, argv);
  if (code == asked_wrongly || flush_standard_output()) return code;
  complain(std::string("standard output: ") + std::strerror(errno));
  return failed;
}

#include "transfer.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "csv.h"
#include "failure.h"
#include "interruption.h"
#include "schema.h"
#include "standard_files.h"
#include "value_text.h"

namespace shell {
namespace {

constexpr std::size_t rows_per_transaction = 1000;
constexpr std::size_t batch_bytes = std::size_t{4} << 20;
constexpr std::size_t row_bytes = std::size_t{128} << 10;

// Rows so far, on a terminal, five times a second.
class Progress {
 public:
  explicit Progress(const char* what) : what_(what) {}
  ~Progress() {
    if (shown_) print_error("\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void rows(std::uint64_t count) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    shown_ = true;
    print_error(fmt::format("\r{} rows {}", count, what_));
  }

 private:
  const char* what_;
  bool terminal_ = isatty(STDERR_FILENO) == 1, shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct Record {
  std::uint64_t line;
  std::vector<CsvField> fields;
  std::vector<lunar_value> values;
};

class Import {
 public:
  Import(Volume& volume, const std::string& path, const std::string& table)
      : volume_(volume), path_(path), table_(volume, table) {
    file_.open(path);
    if (!file_) throw Failure(path + ": " + std::strerror(errno));
    if (struct stat status{}; stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      throw Failure(path + ": it is a directory");
  }

  void run() {
    CsvReader reader(file_);
    read_names(reader);
    std::vector<Record> batch;
    std::size_t bytes = 0;
    for (;;) {
      Record record;
      std::string wrong;
      bool more = true;
      try {
        more = read_record(reader, record);
      } catch (const Failure& failure) {
        wrong = failure.what();
      }
      if (more && wrong.empty()) {
        for (const auto& field : record.fields) bytes += field.text.size();
        batch.push_back(std::move(record));
      }
      if (!more || !wrong.empty() || batch.size() == rows_per_transaction || bytes > batch_bytes) {
        insert(batch);
        batch.clear();
        bytes = 0;
      }
      if (!wrong.empty()) throw Failure(error_report(wrong));
      if (!more) return;
    }
  }

 private:
  void read_names(CsvReader& reader) {
    std::vector<CsvField> names;
    if (!reader.next(names)) throw Failure(path_ + ": it is empty; its first line must name the columns");
    for (const auto& name : names) {
      const int column = column_of(table_.schema, name.text);
      if (column < 0)
        throw Failure(fmt::format("{}:1: table {} has no column \"{}\"; the first line must name columns of the table",
                                  path_, table_.name, name.text));
      if (std::ranges::find(columns_, column) != columns_.end())
        throw Failure(fmt::format("{}:1: the column \"{}\" appears twice", path_, name.text));
      columns_.push_back(column);
    }
  }

  bool read_record(CsvReader& reader, Record& record) {
    if (!reader.next(record.fields)) return false;
    record.line = reader.line();
    if (record.fields.size() != columns_.size())
      throw Failure(fmt::format("line {}: {} fields, but the first line names {}", record.line, record.fields.size(),
                                columns_.size()));
    record.values.resize(table_.schema.column_count);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto& column = table_.schema.columns[columns_[i]];
      try {
        record.values[static_cast<std::size_t>(columns_[i])] =
            value_of(record.fields[i], static_cast<lunar_type>(column.type));
      } catch (const Failure& failure) {
        throw Failure(fmt::format("line {}, column {}: {}", record.line, column.name, failure.what()));
      }
    }
    // The values point into the fields, which stay where they are when the record is moved.
    return true;
  }

  // The failure, and the rows in the table nevertheless.
  std::string error_report(const std::string& wrong) const {
    return fmt::format("{}: {}\n  rows imported: {}, all before this line; this line and the rest were not imported",
                       path_, wrong, done_);
  }

  void insert(const std::vector<Record>& batch) {
    for (std::size_t from = 0; from < batch.size();) {
      if (interruption::pending())
        throw Interrupted(
            fmt::format("{}: interrupted\n  rows imported: {}, all before line {}", path_, done_, batch[from].line));
      const auto count = std::min(rows_at_once_, batch.size() - from);
      const bool alone = count == 1;
      const int error =
          alone ? lunar_insert(&table_.table, batch[from].values.data()) : insert_together(batch, from, from + count);
      if (error == 0) {
        from += count, done_ += count;
        progress_.rows(done_);
      } else if (alone || error == LUNAR_E_IO || error == LUNAR_E_FAILED || error == LUNAR_E_CORRUPT) {
        throw Failure(error_report(fmt::format("line {}: {}", batch[from].line, why(error, batch[from]))));
      } else {
        rows_at_once_ = count / 2;  // needs less log; finally isolates a row that does not fit
      }
    }
  }

  // Wholly or not at all.
  int insert_together(const std::vector<Record>& batch, std::size_t from, std::size_t to) {
    int error = lunar_begin(volume_.handle());
    if (error != 0) return error;
    for (; error == 0 && from < to; ++from) error = lunar_insert(&table_.table, batch[from].values.data());
    if (error == 0) error = lunar_commit(volume_.handle());
    if (error != 0 && lunar_rollback(volume_.handle()) == LUNAR_E_FAILED) return LUNAR_E_FAILED;
    return error;
  }

  std::string why(int error, const Record& record) const {
    const auto& schema = table_.schema;
    if (error == LUNAR_E_EXISTS)
      return fmt::format("a row with the key {} exists already", plain_text(record.values[schema.key], 0));
    if (error == LUNAR_E_INVALID)
      for (std::size_t i = 0; i < record.values.size(); ++i)
        if (record.values[i].type == LUNAR_NULL && (i == schema.key || (schema.columns[i].flags & LUNAR_NOT_NULL) != 0))
          return fmt::format("column {}: it is NOT NULL, and the field is empty or missing (an empty text is \"\")",
                             schema.columns[i].name);
    return volume_.explain(error);
  }

  Volume& volume_;
  std::string path_;
  Table table_;
  std::ifstream file_;
  std::vector<int> columns_;
  std::size_t rows_at_once_ = rows_per_transaction;
  std::uint64_t done_ = 0;
  Progress progress_{"read"};
};

using Write = std::function<void(std::string_view)>;
using WriteRow = std::function<void(const lunar_value* values)>;

// Writes the table's rows from the row `skip` on. Returns how many there are: all, or those before the volume's error.
std::uint64_t write_rows_from(Table& table, std::uint64_t skip, const WriteRow& write_row, int& error) {
  std::vector<std::uint8_t> row(row_bytes);
  lunar_value values[LUNAR_COLUMNS_MAX];
  lunar_cursor cursor{};
  Progress progress("written");
  std::uint64_t rows = 0;
  error = lunar_cursor_open(&cursor, &table.table, nullptr, nullptr, 0);
  struct Close {
    lunar_cursor& cursor;
    ~Close() { lunar_cursor_close(&cursor); }
  } closing{cursor};
  while (error == 0 && (error = lunar_cursor_next(&cursor, row.data(), row.size(), values)) == 0) {
    if (rows >= skip) write_row(values);
    progress.rows(++rows);
    if (interruption::pending()) throw Interrupted("interrupted");
  }
  if (error == LUNAR_E_NOT_FOUND) error = 0;
  return rows;
}

// What became of a table's rows.
struct Written {
  std::uint64_t rows = 0;  // all, those that can be read, or those before the volume's error
  int error = 0;
  std::optional<lunar_losses> lost;  // the table is damaged, and `rows` are all that can be read
};

// A read-only volume is repaired in memory, and keeps the order of the rows.
Written write_rows(Volume& volume, Table& table, const WriteRow& write_row) {
  Written written;
  written.rows = write_rows_from(table, 0, write_row, written.error);
  const bool damaged = written.error == LUNAR_E_CORRUPT || written.error == LUNAR_E_IO;
  lunar_losses lost{};
  if (!damaged || !volume.read_only() || lunar_repair(&table.table, &lost) != 0) return written;
  written.rows = write_rows_from(table, written.rows, write_row, written.error);
  if (written.error == 0) written.lost = lost;
  return written;
}

template <typename Text>
std::string comma_separated(const Table& table, const Text& text) {
  std::string line;
  for (int i = 0; i < table.schema.column_count; ++i) {
    if (i > 0) line += ',';
    text(line, i);
  }
  return line;
}

// Empty where all rows were written.
std::string damage_of(const Table& table, Volume& volume, const Written& written) {
  if (written.lost)
    return fmt::format("table {} is damaged: {} rows were written, all that can be read; lost: {} rows", table.name,
                       written.rows, written.lost->rows);
  if (written.error == 0) return {};
  return fmt::format("table {} cannot be read to its end: {}\n  rows before that, which were written: {}", table.name,
                     volume.explain(written.error), written.rows);
}

// Writing rows over a volume would destroy it.
void refuse_devices(const Volume& volume, const std::string& path) {
  std::error_code none;
  if (std::filesystem::equivalent(path, volume.path(), none)) throw Failure(path + ": it is the volume itself");
  if (std::filesystem::is_block_file(path, none)) throw Failure(path + ": it is a block device");
}

// The file has what write_content writes. It stays where write_content returns, and is removed where that throws.
template <typename Content>
void write_file(const Volume& volume, const std::string& path, const Content& write_content) {
  refuse_devices(volume, path);
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) throw Failure(path + ": " + std::strerror(errno));
  struct Close {
    std::FILE* file;
    ~Close() {
      if (file != nullptr) std::fclose(file);
    }
  } closing{file};
  const auto discarded = [&] { /* a pipe or /dev/full stays */
                               std::error_code none;
                               const bool removed =
                                   std::filesystem::is_regular_file(path, none) && std::filesystem::remove(path, none);
                               return removed ? "; the file was removed" : "";
  };
  const auto write = [file](std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (!written && errno == EPIPE) throw OutputClosed();
    if (!written) throw Failure(std::strerror(errno));
  };
  try {
    write_content(write);
    closing.file = nullptr;
    if (std::fclose(file) != 0) {
      if (errno == EPIPE) throw OutputClosed();
      throw Failure(std::strerror(errno));
    }
  } catch (const Interrupted&) {
    throw Interrupted(path + ": interrupted" + discarded());
  } catch (const Failure& failure) {
    throw Failure(path + ": " + failure.what() + discarded());
  }
}

// What prevented the tables from being read to their ends, a line each.
std::string dump_tables(Volume& volume, const Write& write) {
  std::string damage;
  for (const auto& name : table_names(volume)) {
    Table table(volume, name);
    write(create_table_statement(table));
    const auto begin = fmt::format("INSERT INTO {} VALUES (", sql_name(table.name));
    const auto written = write_rows(volume, table, [&](const lunar_value* values) {
      write(begin + comma_separated(table, [&](auto& line, int i) { line += sql_text(values[i]); }) + ");\n");
    });
    const auto damaged = damage_of(table, volume, written);
    if (!damaged.empty()) damage += (damage.empty() ? "" : "\n") + damaged;
    write(create_index_statements(table));
  }
  return damage;
}

}  // namespace

void import_table(Volume& volume, const std::string& path, const std::string& table) {
  if (volume.read_only()) throw Failure("the volume is open read-only (--read-only)");
  if (lunar_begin(volume.handle()) == LUNAR_E_TXN)
    throw Failure(".import has its own transactions: COMMIT or ROLLBACK before it");
  if (lunar_rollback(volume.handle()) == LUNAR_E_FAILED) throw Failure(volume.explain(LUNAR_E_FAILED));
  Import(volume, path, table).run();
}

void export_table(Volume& volume, const std::string& name, const std::string& path) {
  Table table(volume, name);
  Written written;
  write_file(volume, path, [&](const Write& write) {
    const auto name_of = [&](auto& line, int i) { append_csv_text(line, table.schema.columns[i].name); };
    write(comma_separated(table, name_of) + "\n");
    written = write_rows(volume, table, [&](const lunar_value* values) {
      write(comma_separated(table, [&](auto& line, int i) { append_csv(line, values[i]); }) + "\n");
    });
  });
  const auto damaged = damage_of(table, volume, written);
  if (!damaged.empty()) throw Failure(path + ": " + damaged);
}

void dump(Volume& volume, const std::string& path, const Write& write) {
  std::string damage;
  if (path.empty())
    damage = dump_tables(volume, write);
  else
    write_file(volume, path, [&](const Write& write_to_file) { damage = dump_tables(volume, write_to_file); });
  if (!damage.empty()) throw Failure(damage);
}

}  // namespace shell

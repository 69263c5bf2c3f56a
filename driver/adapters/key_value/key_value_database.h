// The common part of key-value stores that live in one directory. open() checks the options, then the directory, then
// calls the library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/data_directory.h"
#include "contract/adapter.h"
#include "key_locks.h"

namespace edgejoule::driver {

class KeyValueDatabase : public Database {
 public:
  void open(const Properties& properties, Durability durability, bool create, EventSink sink) final;
  [[nodiscard]] std::string flush_error() const final { return flush_error_; }
  [[nodiscard]] std::string path() const final { return path_; }
  [[nodiscard]] bool update_merges() const final { return true; }

 protected:
  // adapter: the name in options, as in "leveldb.path". options: all options of the adapter; they must outlive the
  // database.
  KeyValueDatabase(std::string_view adapter, const DirectoryMarks& marks, const std::vector<OptionHelp>& options)
      : adapter_(adapter), marks_(marks), options_(options) {}

  [[nodiscard]] Durability durability() const { return durability_; }
  [[nodiscard]] KeyLocks& locks() { return locks_; }

  // Converts the outcome of a flush. doing: "flush", "sync"; failure: the library's message, empty on success.
  Status flushed(std::string_view doing, const std::string& failure);

 private:
  // Reads and checks the options before anything is opened. Throws UsageError.
  virtual void take_options(const Properties& properties) = 0;
  // Opens the database. The directory exists and is empty or holds a database of this kind. Throws DatabaseError.
  virtual void open_library(const Properties& properties, bool create, EventSink sink) = 0;

  const std::string_view adapter_;
  const DirectoryMarks marks_;
  const std::vector<OptionHelp>& options_;
  std::string path_;
  Durability durability_ = Durability::process;
  KeyLocks locks_;  // shared by all sessions
  std::string flush_error_;
};

}  // namespace edgejoule::driver

// A store of keys and values in a directory of its own, opened alike whatever its library: options are checked, then
// the directory, then the library opens it.
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

 protected:
  // adapter: as in "leveldb.path". options: all it has; they outlive the database.
  KeyValueDatabase(std::string_view adapter, const DirectoryMarks& marks, const std::vector<OptionHelp>& options)
      : adapter_(adapter), marks_(marks), options_(options) {}

  [[nodiscard]] Durability durability() const { return durability_; }
  [[nodiscard]] KeyLocks& locks() { return locks_; }

  // Outcome of a flush. doing: "flush", "sync"; failure: in the library's words, empty when there was none.
  Status flushed(std::string_view doing, const std::string& failure);

 private:
  // Before anything is touched. Throws UsageError.
  virtual void take_options(const Properties& properties) = 0;
  // The directory is there, and empty or a database of this kind. Throws DatabaseError.
  virtual void open_library(const Properties& properties, bool create, EventSink sink) = 0;

  const std::string_view adapter_;
  const DirectoryMarks marks_;
  const std::vector<OptionHelp>& options_;
  std::string path_;
  Durability durability_ = Durability::process;
  KeyLocks locks_;  // of all sessions
  std::string flush_error_;
};

}  // namespace edgejoule::driver

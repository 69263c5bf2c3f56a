// A lock that prevents a second driver from using the database at the same time: its operations would change this run's
// files, caches and figures. For databases whose library allows several processes.
//
// The lock is a flock on the file itself. It ends with the process, and neither SQLite nor LMDB uses flock.
#pragma once

#include <string>
#include <string_view>

namespace edgejoule::driver {

class ExclusiveUse {
 public:
  ExclusiveUse() = default;
  ~ExclusiveUse() { release(); }
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

  // Creates the file if it is absent and `create` is set. `concurrent`: other processes that also set it may use the
  // file. Throws DatabaseError if another process uses it. adapter: the name in options, as in
  // "sqlite.allow_concurrent".
  void take(const std::string& file, bool create, std::string_view adapter, bool concurrent);

  // Call it only after the library has closed the file: closing another descriptor of the file drops the library's
  // locks.
  void release();

 private:
  int descriptor_ = -1;
};

}  // namespace edgejoule::driver

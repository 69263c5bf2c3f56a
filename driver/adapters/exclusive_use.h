// A lock on a database's file, so that no second driver works on the database unnoticed: its operations would be in
// this run's files, caches and figures. For databases whose library lets several processes in.
//
// It is an flock on the file itself: the end of the process releases it, and neither SQLite nor LMDB uses that kind.
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

  // Makes the file when it is absent and `create` is set. `concurrent`: others may use it too, who say so as well.
  // Throws DatabaseError when another process uses it. adapter: as in "sqlite.allow_concurrent".
  void take(const std::string& file, bool create, std::string_view adapter, bool concurrent);

  // Only after the library has closed the file: to close another descriptor of it drops the library's own locks.
  void release();

 private:
  int descriptor_ = -1;
};

}  // namespace edgejoule::driver

// Descriptors 0, 1 and 2, which the command inherits.
#pragma once

#include <sys/types.h>

#include <array>

namespace edgejoule::supervisor {

// Opens /dev/null for each of the three that is closed. Keeps the command from inheriting any other descriptor.
void protect_descriptors();

// Gives the command /dev/null as its input. Returns the former standard input. Throws std::system_error.
[[nodiscard]] int take_standard_input();

// Restores the standard files before each repetition, as they were before the first: input at the same offset, output
// cut to the same length.
class StandardFiles {
 public:
  // A file that also receives the reports is not changed.
  explicit StandardFiles(int report);
  void restore() const;

 private:
  struct File {
    bool regular = false;
    bool writable = false;
    off_t offset = 0;
    off_t bytes = 0;
  };
  std::array<File, 3> files_;
};

}  // namespace edgejoule::supervisor

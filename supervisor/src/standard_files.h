// Descriptors 0, 1 and 2, which the command inherits.
#pragma once

#include <sys/types.h>

#include <array>

namespace edgejoule::supervisor {

// Opens /dev/null for each of the three that is closed, and keeps all other descriptors from the command.
void protect_descriptors();

// Gives the command /dev/null as its input and returns the former standard input. Throws std::system_error.
[[nodiscard]] int take_standard_input();

// Every repetition starts with the files that the first one had: input from the same offset, output cut to its length.
class StandardFiles {
 public:
  // A file that the reports are written to, too, is left as it is.
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

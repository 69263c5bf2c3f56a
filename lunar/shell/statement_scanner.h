// Where statements end in a text that comes line by line.
#pragma once

#include <cstddef>
#include <string_view>

namespace shell {

class StatementScanner {
 public:
  // text: the earlier text, and more. Text that was scanned is not scanned again.
  void scan(std::string_view text);
  // Behind the last semicolon outside quotes and comments; 0: none.
  std::size_t complete() const { return complete_; }
  // Where the first statement begins, behind space and comments; the text's size without one.
  std::size_t beginning() const { return found_ ? beginning_ : position_; }
  // There is something but space and comments behind it.
  bool begun() const { return begun_; }

 private:
  enum class Within { nothing, quotes, line_comment, block_comment };

  void begin();

  std::size_t position_ = 0, complete_ = 0, beginning_ = 0;
  Within within_ = Within::nothing;
  char quote_ = 0;
  bool begun_ = false, found_ = false;
};

}  // namespace shell

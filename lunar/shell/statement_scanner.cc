#include "statement_scanner.h"

namespace shell {

void StatementScanner::begin() {
  if (!found_) beginning_ = position_;
  begun_ = found_ = true;
}

void StatementScanner::scan(std::string_view text) {
  for (; position_ < text.size(); ++position_) {
    const char c = text[position_];
    const char next = position_ + 1 < text.size() ? text[position_ + 1] : '\0';
    if (within_ == Within::quotes) {
      if (c == quote_) within_ = Within::nothing;  // a doubled quote ends one and begins another
    } else if (within_ == Within::line_comment) {
      if (c == '\n') within_ = Within::nothing;
    } else if (within_ == Within::block_comment) {
      if (c == '*' && next == '/') within_ = Within::nothing, ++position_;
    } else if (c == '-' && next == '-') {
      within_ = Within::line_comment;
    } else if (c == '/' && next == '*') {
      within_ = Within::block_comment, ++position_;
    } else if (c == '\'' || c == '"' || c == '`') {
      within_ = Within::quotes, quote_ = c;
      begin();
    } else if (c == ';') {
      complete_ = position_ + 1, begun_ = false;
    } else if (c != ' ' && (c < '\t' || c > '\r')) {
      begin();
    }
  }
}

}  // namespace shell

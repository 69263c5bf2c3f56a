#include "terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <memory>
#include <string_view>
#include <utility>
#ifdef LUNAR_SHELL_LIBEDIT
#include <histedit.h>
#endif

#include "failure.h"
#include "interruption.h"

namespace shell {
namespace {

class FileLines {
 public:
  FileLines(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  ~FileLines() {
    if (descriptor_ > STDERR_FILENO) close(descriptor_);
  }
  FileLines(const FileLines&) = delete;
  FileLines& operator=(const FileLines&) = delete;

  std::optional<std::string> next() {
    std::string line;
    for (;;) {
      const auto end = text_.find('\n', at_);
      line.append(text_, at_, end == std::string::npos ? end : end - at_);
      at_ = end == std::string::npos ? text_.size() : end + 1;
      if (end != std::string::npos) return line;
      if (!fill()) return line.empty() ? std::nullopt : std::optional(line);
    }
  }

 private:
  bool fill() {
    text_.resize(std::size_t{1} << 16);
    at_ = 0;
    if (!interruption::wait_to_read(descriptor_)) throw Interrupted("interrupted");
    const auto n = read(descriptor_, text_.data(), text_.size());
    if (n < 0) throw Failure(name_ + ": " + std::strerror(errno));
    text_.resize(static_cast<std::size_t>(n));
    return n > 0;
  }

  int descriptor_;
  std::string name_, text_;
  std::size_t at_ = 0;
};

#ifdef LUNAR_SHELL_LIBEDIT

class Editor {
 public:
  Editor() : history_(history_init()) {
    std::setlocale(LC_CTYPE, "");  // input may be UTF-8
    edit_ = el_init("lunar", stdin, stdout, stderr);
    HistEvent event{};
    history(history_, &event, H_SETSIZE, 1000);
    history(history_, &event, H_SETUNIQUE, 1);
    if (const char* home = std::getenv("HOME")) file_ = std::string(home) + "/.lunar_history";
    if (!file_.empty()) history(history_, &event, H_LOAD, file_.c_str());
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_GETCFN, character);
    el_set(edit_, EL_PROMPT, prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  }
  ~Editor() {
    HistEvent event{};
    if (!file_.empty()) history(history_, &event, H_SAVE, file_.c_str());
    history_end(history_);
    el_end(edit_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  std::optional<std::string> next(bool continued) {
    continued_ = continued;
    // el_gets sets raw mode only after it has printed the prompt, and the terminal drops a Ctrl-D typed in between.
    el_set(edit_, EL_PREP_TERM, 1);
    int bytes = 0;
    const char* line = el_gets(edit_, &bytes);
    if (interruption::pending()) {
      el_reset(edit_);
      throw Interrupted("");
    }
    if (line == nullptr || bytes <= 0) return std::nullopt;
    HistEvent event{};
    if (std::strspn(line, " \t\n") < static_cast<std::size_t>(bytes)) history(history_, &event, H_ENTER, line);
    std::string text(line, static_cast<std::size_t>(bytes));
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  static char* prompt(EditLine* edit) {
    Editor* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return self->continued_ ? self->more_ : self->first_;
  }

  static int character(EditLine*, wchar_t* out) {
    for (std::mbstate_t state{};;) {
      char byte = 0;
      if (!interruption::wait_to_read(STDIN_FILENO)) return -1;
      const auto n = read(STDIN_FILENO, &byte, 1);
      if (n <= 0) return static_cast<int>(n);
      const auto length = std::mbrtowc(out, &byte, 1, &state);
      if (length == static_cast<std::size_t>(-1))
        state = {};  // no text of this locale: dropped
      else if (length != static_cast<std::size_t>(-2))
        return 1;
    }
  }

  EditLine* edit_ = nullptr;
  History* history_;
  std::string file_;
  char first_[8] = "lunar> ", more_[8] = "  ...> ";
  bool continued_ = false;
};

#else

class Editor {
 public:
  std::optional<std::string> next(bool continued) {
    std::fputs(continued ? "  ...> " : "lunar> ", stdout);
    std::fflush(stdout);
    return lines_.next();
  }

 private:
  FileLines lines_{STDIN_FILENO, "standard input"};
};

#endif

}  // namespace

Lines lines_of_text(std::string text) {
  return [text = std::move(text), at = std::size_t{0}](bool) mutable -> std::optional<std::string> {
    if (at >= text.size()) return std::nullopt;
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    at = end + 1;
    return line;
  };
}

Lines lines_of_file(const std::string& path) {
  const int descriptor = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Failure(path + ": " + std::strerror(errno));
  const auto lines = std::make_shared<FileLines>(descriptor, path == "-" ? "standard input" : path);
  return [lines](bool) { return lines->next(); };
}

Lines lines_of_terminal() {
  const auto editor = std::make_shared<Editor>();
  return [editor](bool continued) { return editor->next(continued); };
}

}  // namespace shell

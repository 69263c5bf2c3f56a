// Runs statements and dot commands, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "output.h"
#include "statement_scanner.h"
#include "terminal.h"
#include "volume.h"

namespace shell {

class Session {
 public:
  Session(Volume& volume, Output& output);

  // The first error ends it: throws Failure, Interrupted, OutputClosed. source: for their texts, empty: none.
  void run(const Lines& lines, const std::string& source);
  // Interactive: prints errors on standard error and continues. Throws OutputClosed.
  void interact(const Lines& lines);

  Volume& volume() { return volume_; }
  Output& output() { return output_; }
  void read(const std::string& path);  // a file of statements
  void quit() { quit_ = true; }

 private:
  // What has come of a source and has not run yet.
  struct Script {
    std::string source, text;
    StatementScanner scanner;
    std::uint64_t lines = 0, first_line = 1;  // lines: that came

    void drop(std::size_t bytes);
  };

  void take(Script& script, const std::string& line);
  void run_statements(const Script& script, std::string_view text);
  const char* run_statement(const Script& script, std::string_view text, const char* from);
  void run_prepared(lunar_statement* statement, int& error);
  void recover();

  Volume& volume_;
  Output& output_;
  std::unique_ptr<std::uint64_t[]> memory_;
  std::size_t memory_bytes_ = 0;
  unsigned depth_ = 0;
  bool quit_ = false;
};

}  // namespace shell

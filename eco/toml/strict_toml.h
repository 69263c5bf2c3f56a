// Reads TOML in which every key must be known: done() refuses keys that were not read, with file, line and key. All of
// eco's files use it: ecod's configuration, an application's settings, eco-sim's experiments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace eco {

struct TomlError : std::runtime_error {
  using std::runtime_error::runtime_error;  // "FILE:LINE: KEY: what was expected"
};

class StrictToml {
 public:
  explicit StrictToml(const std::filesystem::path& file);
  // file: file name for messages.
  static StrictToml parse(const std::string& text, const std::string& file);
  ~StrictToml();
  StrictToml(StrictToml&&) noexcept;
  StrictToml& operator=(StrictToml&&) noexcept;

  // Each reads a key and marks it as known.

  [[nodiscard]] bool has(std::string_view key);
  // Must be at least `least`. Without a default the key is required.
  double number(std::string_view key, double least);
  double number(std::string_view key, double least, double otherwise);
  std::string text(std::string_view key);  // not empty
  std::string text(std::string_view key, std::string otherwise);
  std::vector<double> numbers(std::string_view key, double least, std::vector<double> otherwise);
  std::vector<std::string> texts(std::string_view key, std::vector<std::string> otherwise);
  // Elements under this key; empty if the key is absent.
  std::vector<StrictToml> tables(std::string_view key);
  StrictToml table(std::string_view key);
  // Tables under a key, by name.
  std::map<std::string, StrictToml> named_tables(std::string_view key);
  // Texts under a key, by name.
  std::map<std::string, std::string> named_texts(std::string_view key);

  // True: the key is present, and `field` has its value. Numbers are 0 or more.
  bool read(std::string_view key, std::string& field);
  bool read(std::string_view key, bool& field);
  bool read(std::string_view key, std::int64_t& field);
  bool read(std::string_view key, double& field);
  bool read(std::string_view key, std::vector<std::string>& field);
  bool read(std::string_view key, std::map<std::string, std::string>& field);

  // An obsolete key: it has no effect, and a file that has it gets a warning.
  void retired(std::string_view key, std::string_view why, std::vector<std::string>& warnings);

  void done() const;
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;
  // "FILE:LINE" of a key, or of the table if the key is absent.
  [[nodiscard]] std::string where(std::string_view key) const;

 private:
  struct Node;
  explicit StrictToml(std::unique_ptr<Node> node);
  std::unique_ptr<Node> node_;
};

}  // namespace eco

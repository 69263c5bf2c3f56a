// TOML in which every key must be known: what was not read is refused by done(), with file, line and key. The one
// reader of eco's files: ecod's configuration, an application's settings, eco-sim's experiments.
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
  // file: its name in messages.
  static StrictToml parse(const std::string& text, const std::string& file);
  ~StrictToml();
  StrictToml(StrictToml&&) noexcept;
  StrictToml& operator=(StrictToml&&) noexcept;

  // Each asks for a key, which is known from then on.

  [[nodiscard]] bool has(std::string_view key);
  // At least `least`. Without a default the key must be there.
  double number(std::string_view key, double least);
  double number(std::string_view key, double least, double otherwise);
  std::string text(std::string_view key);  // not empty
  std::string text(std::string_view key, std::string otherwise);
  std::vector<double> numbers(std::string_view key, double least, std::vector<double> otherwise);
  std::vector<std::string> texts(std::string_view key, std::vector<std::string> otherwise);
  // Of this key; empty where there is none.
  std::vector<StrictToml> tables(std::string_view key);
  StrictToml table(std::string_view key);
  // The tables under a key, by name.
  std::map<std::string, StrictToml> named_tables(std::string_view key);
  // Texts under a key, by name.
  std::map<std::string, std::string> named_texts(std::string_view key);

  // True: the key is there, and `field` has its value. Numbers are 0 or more.
  bool read(std::string_view key, std::string& field);
  bool read(std::string_view key, bool& field);
  bool read(std::string_view key, std::int64_t& field);
  bool read(std::string_view key, double& field);
  bool read(std::string_view key, std::vector<std::string>& field);
  bool read(std::string_view key, std::map<std::string, std::string>& field);

  // A key of earlier versions: it has no effect, and a file that has it gets a warning.
  void retired(std::string_view key, std::string_view why, std::vector<std::string>& warnings);

  void done() const;
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;
  // "FILE:LINE" of a key; of the table, where the key is not there.
  [[nodiscard]] std::string where(std::string_view key) const;

 private:
  struct Node;
  explicit StrictToml(std::unique_ptr<Node> node);
  std::unique_ptr<Node> node_;
};

}  // namespace eco

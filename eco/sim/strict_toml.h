// TOML in which every key must be known: what was not read is refused by done(), with file, line and key.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace eco::sim {

struct SpecError : std::runtime_error {
  using std::runtime_error::runtime_error;  // "FILE:LINE: KEY: what was expected"
};

class StrictToml {
 public:
  explicit StrictToml(const std::filesystem::path& file);
  ~StrictToml();
  StrictToml(StrictToml&&) noexcept;
  StrictToml& operator=(StrictToml&&) noexcept;

  [[nodiscard]] bool has(std::string_view key) const;
  // At least `least`. Without a default the key must be there.
  double number(std::string_view key, double least);
  double number(std::string_view key, double least, double otherwise);
  std::string text(std::string_view key);
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

  void done() const;
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  struct Node;
  explicit StrictToml(std::unique_ptr<Node> node);
  std::unique_ptr<Node> node_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace eco::sim

#include "settings_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <stdexcept>

namespace eco {
namespace {

[[noreturn]] void refuse(const std::string& file, const toml::node* node, const std::string& key,
                         const std::string& what) {
  if (node == nullptr) throw std::runtime_error(fmt::format("{}: {}: {}", file, key, what));
  throw std::runtime_error(fmt::format("{}:{}: {}: {}", file, node->source().begin.line, key, what));
}

// A table whose keys have all to be known.
class Section {
 public:
  Section(std::string file, std::string prefix, const toml::table& table)
      : file_(std::move(file)), prefix_(std::move(prefix)), table_(table) {}

  void text(const char* key, std::string& value) { read(key, value, "a string"); }
  void texts(const char* key, std::vector<std::string>& values) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) refuse(file_, node, prefix_ + key, "a list of strings is expected");
    for (const auto& element : *array) {
      const auto text = element.value<std::string>();
      if (!text) refuse(file_, &element, prefix_ + key, "a list of strings is expected");
      values.push_back(*text);
    }
  }
  void seconds(const char* key, double& value) {
    if (read(key, value, "a number of seconds above 0") && !(value > 0 && std::isfinite(value)))
      refuse(file_, table_.get(key), prefix_ + key, "a number of seconds above 0 is expected");
  }
  // A key of earlier versions: it has no effect, and a file that has it gets a warning.
  void retired(const char* key, const char* why, std::vector<std::string>& warnings) {
    known_.insert(key);
    if (const toml::node* node = table_.get(key); node != nullptr)
      warnings.push_back(fmt::format("{}:{}: {}: has no effect, {}; remove the line", file_, node->source().begin.line,
                                     prefix_ + key, why));
  }
  // HOST:PORT, or a Unix socket.
  void address(const char* key, std::string& value) {
    if (!read(key, value, "HOST:PORT") || value.starts_with("unix:")) return;
    const auto colon = value.rfind(':');
    const std::string digits = colon == std::string::npos ? "" : value.substr(colon + 1);
    const bool number = !digits.empty() && digits.size() <= 5 &&
                        std::ranges::all_of(digits, [](unsigned char digit) { return std::isdigit(digit) != 0; });
    if (!number || std::stoi(digits) < 1 || std::stoi(digits) > 65535)
      refuse(file_, table_.get(key), prefix_ + key, "HOST:PORT with a port from 1 to 65535 is expected");
  }
  void folder(const char* key, std::string& value) {
    if (!read(key, value, "a folder") || value.empty()) return;
    std::error_code ignored;
    if (!value.starts_with('/') || !std::filesystem::is_directory(value, ignored))
      refuse(file_, table_.get(key), prefix_ + key, "the absolute path of a folder that is there is expected");
  }
  void milliseconds(const char* key, int& value) {
    if (read(key, value, "a number of milliseconds above 0") && value <= 0)
      refuse(file_, table_.get(key), prefix_ + key, "a number of milliseconds above 0 is expected");
  }
  const toml::table* section(const char* key) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node != nullptr && !node->is_table()) refuse(file_, node, prefix_ + key, "a section is expected");
    return node == nullptr ? nullptr : node->as_table();
  }
  void expect_no_more() const {
    for (const auto& [key, node] : table_)
      if (!known_.contains(std::string(key.str())))
        refuse(file_, &node, prefix_ + std::string(key.str()), "is not known");
  }

 private:
  template <typename T>
  bool read(const char* key, T& value, const char* expected) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return false;
    const auto found = node->value<T>();
    if (!found) refuse(file_, node, prefix_ + key, fmt::format("{} is expected", expected));
    value = *found;
    return true;
  }

  std::string file_, prefix_;
  const toml::table& table_;
  std::set<std::string> known_;
};

toml::table parse(const std::filesystem::path& file) {
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}:{}: {}", file.string(), error.source().begin.line, std::string(error.description())));
  }
}

}  // namespace

Settings read_settings(const std::filesystem::path& file, std::vector<std::string>& warnings) {
  const toml::table table = parse(file);
  Settings settings;
  Section top(file.string(), "", table);
  std::string worker, node, token;
  int place_timeout_ms = 20;
  top.address("worker", worker), top.text("node", node), top.text("token", token);
  top.folder("shared_directory", settings.shared_directory);
  top.texts("same_code", settings.same_code);
  top.milliseconds("place_timeout_ms", place_timeout_ms);
  top.seconds("heartbeat_s", settings.heartbeat_s), top.seconds("standstill_s", settings.standstill_s);
  top.seconds("job_s_max", settings.job_s_max);
  top.retired("hedge_share", "there are no second attempts at late jobs any more", warnings);
  if (const toml::table* tls = top.section("tls")) {
    Section section(file.string(), "tls.", *tls);
    section.text("ca", settings.tls.ca), section.text("certificate", settings.tls.certificate);
    section.text("key", settings.tls.key);
    section.expect_no_more();
  }
  top.expect_no_more();
  if (worker.empty() == node.empty()) throw std::runtime_error(file.string() + ": either worker or node is expected");
  if (worker.empty())
    settings.placer = std::make_shared<NodePlacer>(node, place_timeout_ms);
  else
    settings.placer = std::make_shared<FixedPlacer>(worker, token);
  return settings;
}

}  // namespace eco

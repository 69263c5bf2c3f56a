#include "settings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <stdexcept>

#include "strict_toml.h"

namespace eco {
namespace {

void read_seconds(StrictToml& toml, const char* key, double& value) {
  if (toml.read(key, value) && value <= 0) toml.fail(key, "expected seconds, more than 0");
}

void read_milliseconds(StrictToml& toml, const char* key, int& value) {
  std::int64_t read = value;
  if (!toml.read(key, read)) return;
  if (read < 1 || read > std::numeric_limits<int>::max()) toml.fail(key, "expected milliseconds, 1 or more");
  value = static_cast<int>(read);
}

// Accepts HOST:PORT or a Unix socket.
void read_address(StrictToml& toml, const char* key, std::string& value) {
  if (!toml.read(key, value) || value.starts_with("unix:")) return;
  const auto colon = value.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : value.substr(colon + 1);
  const bool number = !digits.empty() && digits.size() <= 5 &&
                      std::ranges::all_of(digits, [](unsigned char digit) { return std::isdigit(digit) != 0; });
  if (!number || std::stoi(digits) < 1 || std::stoi(digits) > 65535)
    toml.fail(key, "expected HOST:PORT with a port from 1 to 65535");
}

void read_folder(StrictToml& toml, const char* key, std::string& value) {
  if (!toml.read(key, value) || value.empty()) return;
  std::error_code ignored;
  if (!value.starts_with('/') || !std::filesystem::is_directory(value, ignored))
    toml.fail(key, "expected the absolute path of an existing folder");
}

}  // namespace

Settings read_settings(const std::filesystem::path& file, std::vector<std::string>& warnings) {
  StrictToml toml(file);
  Settings settings;
  std::string worker, node, token;
  int place_timeout_ms = 20;
  read_address(toml, "worker", worker), toml.read("node", node), toml.read("token", token);
  read_folder(toml, "shared_directory", settings.shared_directory);
  toml.read("same_code", settings.same_code);
  read_milliseconds(toml, "place_timeout_ms", place_timeout_ms);
  read_seconds(toml, "heartbeat_s", settings.heartbeat_s), read_seconds(toml, "standstill_s", settings.standstill_s);
  read_seconds(toml, "job_s_max", settings.job_s_max);
  toml.retired("hedge_share", "second attempts at late jobs were removed", warnings);
  StrictToml tls = toml.table("tls");
  tls.read("ca", settings.tls.ca), tls.read("certificate", settings.tls.certificate), tls.read("key", settings.tls.key);
  tls.done();
  toml.done();
  if (worker.empty() == node.empty()) throw std::runtime_error(file.string() + ": either worker or node is expected");
  if (worker.empty())
    settings.placer = std::make_shared<NodePlacer>(node, place_timeout_ms);
  else
    settings.placer = std::make_shared<FixedPlacer>(worker, token);
  return settings;
}

}  // namespace eco

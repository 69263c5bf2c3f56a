#include "offloading.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <exception>
#include <filesystem>
#include <utility>

#include "../../../eco/offload/loadable.h"
#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

using Setting = std::pair<const char*, std::string eco::LoadableSettings::*>;

constexpr std::array<Setting, 3> settings_by_property = {{
    {"rocksdb.eco_node", &eco::LoadableSettings::node},
    {"rocksdb.eco_worker", &eco::LoadableSettings::worker},
    {"rocksdb.eco_settings", &eco::LoadableSettings::file},
}};

#ifdef EDGEJOULE_SELF_CONTAINED

eco::LoadedAttach* load(const std::string& asked) {
  throw DatabaseError(fmt::format(
      "rocksdb.{}: this driver contains its own RocksDB; eco needs a driver linked with the system's RocksDB", asked));
}

#else

// eco's library relative to the driver, as installed or as built, otherwise on the system's search path.
std::string library() {
  std::error_code absent;
  const auto beside =
      fs::read_symlink("/proc/self/exe", absent).parent_path().parent_path() / "lib" / "libeco-service.so";
  return fs::exists(beside, absent) ? beside.string() : "libeco-service.so";
}

eco::LoadedAttach* load(const std::string& asked) {
  void* opened = ::dlopen(library().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = opened == nullptr ? nullptr : ::dlsym(opened, "eco_attach");
  if (function == nullptr) {
    throw DatabaseError(
        fmt::format("rocksdb.{}: eco cannot be loaded: {}; `make eco` builds it", asked, std::string(::dlerror())));
  }
  return reinterpret_cast<eco::LoadedAttach*>(function);
}

#endif

}  // namespace

std::vector<OptionHelp> Offloading::option_help() {
  return {
      {"rocksdb.eco_node",
       "offload compactions of level 0 through the ecod of this machine; its socket, unix:/run/ecod/node.sock", ""},
      {"rocksdb.eco_worker", "offload them to one worker (`ecod worker`) without a federation; HOST:PORT on loopback",
       ""},
      {"rocksdb.eco_settings", "TOML file with eco's settings: the node or the worker, TLS, time limits", ""},
  };
}

void Offloading::attach(rocksdb::Options& options, const Properties& properties) {
  asked_.clear();
  eco::LoadableSettings settings;
  for (const auto& [property, member] : settings_by_property) {
    if (!properties.has(property)) continue;
    settings.*member = required_option(properties, property, "VALUE");
    const auto name = std::string_view(property).substr(std::string_view("rocksdb.").size());
    if (!asked_.empty()) {
      throw UsageError(fmt::format("{}: property {} and rocksdb.{} are both set: expected one of them",
                                   properties.origin(property), property, asked_));
    }
    asked_ = fmt::format("{}={}", name, settings.*member);
  }
  if (asked_.empty()) return;
  const auto rows = properties.get("rocksdb.column_family", properties.get("table", "usertable"));
  try {
    statistics_ = load(asked_)(options, settings, {{rows, options}});
  } catch (const DatabaseError&) {
    throw;
  } catch (const std::exception& error) {
    throw DatabaseError(fmt::format("rocksdb.{}: {}", asked_, error.what()));
  }
}

void Offloading::add_to(std::map<std::string, std::string>& stats) const {
  if (asked_.empty()) return;
  const auto done = statistics();
  stats["eco.asked"] = std::to_string(done.asked);
  stats["eco.kept"] = std::to_string(done.kept);
  stats["eco.installed"] = std::to_string(done.installed);
  stats["eco.fell_back"] = std::to_string(done.fell_back);
  stats["eco.bytes_moved"] = std::to_string(done.bytes_moved);
  stats["eco.wasted_s"] = fmt::format("{:.6f}", done.wasted_s);
  stats["eco.home_cpu_s"] = fmt::format("{:.6f}", done.home_cpu_s);
  stats["eco.last_reason"] = done.last_reason;
}

}  // namespace edgejoule::driver

// Loads lib/edgejoule/adapter-NAME.so, found relative to the program's folder. A loaded module stays until the program
// ends.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "registry.h"
#include "system/interruption.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

LibraryAdapter load(const std::string& name) {
  std::error_code absent;
  const auto folder = fs::read_symlink("/proc/self/exe", absent).parent_path().parent_path() / "lib/edgejoule";
  const auto file = folder / fmt::format("adapter-{}.so", name);
  if (!fs::exists(folder, absent)) return {nullptr, fmt::format("no {} beside the program", folder.string())};
  if (!fs::exists(file, absent)) return {};
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return {nullptr, dlerror()};
  const auto function = [module]<typename Function>(const char* symbol, Function*) {
    return reinterpret_cast<Function*>(dlsym(module, symbol));
  };
  auto* const build = function("edgejoule_adapter_build", static_cast<const char* (*)()>(nullptr));
  auto* const adapter = function("edgejoule_adapter", static_cast<const AdapterInfo* (*)(std::atomic<int>*)>(nullptr));
  if (build == nullptr || adapter == nullptr) return {nullptr, fmt::format("{} is not an adapter", file.string())};
  if (const std::string_view found = build(); found != EDGEJOULE_ADAPTER_BUILD) {
    return {nullptr, fmt::format("{} belongs to another build: {}; this driver is {}", file.string(), found,
                                 EDGEJOULE_ADAPTER_BUILD)};
  }
  return {adapter(&interruption_state()), ""};
}

}  // namespace

LibraryAdapter library_adapter(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, LibraryAdapter, std::less<>> loaded;
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(name);
  if (found != loaded.end()) return found->second;
  return loaded.emplace(name, load(std::string(name))).first->second;
}

}  // namespace edgejoule::driver

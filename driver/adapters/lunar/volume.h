// A mounted volume and its table. The sessions of all threads share it.
//
// A transaction of lunar belongs to the handle, not to a thread. A session therefore holds the mutex from the first
// call of an operation to its last, and the clients take turns.
#pragma once

#include <lunar.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"
#include "settings.h"

namespace edgejoule::driver {

class LunarVolume {
 public:
  // Mounts the volume. Creates volume and table if they are absent and `create` is set. Throws DatabaseError. The
  // settings must outlive it.
  LunarVolume(const LunarSettings& settings, bool create);
  ~LunarVolume() { (void)unmount(); }
  LunarVolume(const LunarVolume&) = delete;
  LunarVolume& operator=(const LunarVolume&) = delete;

  [[nodiscard]] std::mutex& mutex() { return mutex_; }

  // All of these require that the caller holds the mutex, or that no session is working.
  [[nodiscard]] lunar& handle() { return handle_; }
  [[nodiscard]] lunar_table& table() { return table_; }
  [[nodiscard]] LunarDevice& device() { return device_; }
  [[nodiscard]] lunar_statistics statistics();  // throws DatabaseError
  [[nodiscard]] int unmount();                  // 0 if it is not mounted
  // If the settings ask for it: passes committed writes to the system, which syncs them with the next checkpoint.
  [[nodiscard]] int hand_over();

  [[nodiscard]] const lunar_cache& cache() const { return cache_; }
  [[nodiscard]] lunar_index index() const { return static_cast<lunar_index>(table_.index); }

  // A message with the file, lunar's error, the system's error, and the remedy.
  [[nodiscard]] std::string error(int code);

 private:
  void mount(bool create);
  void mount_after_mode_none();
  void format();
  void open_table(bool create);
  void check_table();
  void open_cache();
  [[noreturn]] void fail(const std::string& what, int code);

  const LunarSettings& settings_;
  LunarDevice device_;
  std::vector<std::uint64_t> buffer_;
  lunar handle_{};
  lunar_table table_{};
  lunar_cache cache_{};
  std::vector<std::uint64_t> cache_memory_;
  bool mounted_ = false;
  std::mutex mutex_;
};

}  // namespace edgejoule::driver

// A mounted volume and the table in it, shared by the sessions of all threads.
//
// A transaction of lunar belongs to the handle, not to a thread: whoever works with the handle holds the mutex from the
// first call of an operation to its last. So the clients take turns.
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
  // Mounts; makes volume and table where they are absent and `create` is set. Throws DatabaseError. Settings outlive
  // it.
  LunarVolume(const LunarSettings& settings, bool create);
  ~LunarVolume() { (void)unmount(); }
  LunarVolume(const LunarVolume&) = delete;
  LunarVolume& operator=(const LunarVolume&) = delete;

  [[nodiscard]] std::mutex& mutex() { return mutex_; }

  // All of these want the mutex held, or no session at work.
  [[nodiscard]] lunar& handle() { return handle_; }
  [[nodiscard]] lunar_table& table() { return table_; }
  [[nodiscard]] LunarDevice& device() { return device_; }
  [[nodiscard]] lunar_statistics statistics();  // throws DatabaseError
  [[nodiscard]] int unmount();                  // 0 when it is not mounted
  // Where the settings say so: what is committed goes to the system, which syncs it with the next checkpoint.
  [[nodiscard]] int hand_over();

  [[nodiscard]] const lunar_cache& cache() const { return cache_; }
  [[nodiscard]] lunar_index index() const { return static_cast<lunar_index>(table_.index); }

  // The file, lunar's words, the system's reason, and the way out.
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

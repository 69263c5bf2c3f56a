// A device between lunar and another one, which counts what passes.
#pragma once

#include <cstdint>

#include "lunar.h"

namespace lunar_bench {

class CountedDevice {
 public:
  // inner: callbacks, context and sizes of the device; it must stay where it is.
  explicit CountedDevice(lunar_config* inner) : inner_(inner) {}

  // Puts itself between a configuration and the device.
  void attach(lunar_config* config) {
    config->context = this;
    config->read = [](const lunar_config* c, std::uint32_t sector, void* data, std::uint32_t count) {
      auto& self = of(c);
      self.reads++, self.sectors_read += count;
      return self.inner_->read(self.inner_, sector, data, count);
    };
    config->write = [](const lunar_config* c, std::uint32_t sector, const void* data, std::uint32_t count) {
      auto& self = of(c);
      self.writes++, self.sectors_written += count;
      if (sector >= self.log_at && sector < self.log_at + self.log_sectors) self.log_sectors_written += count;
      return self.inner_->write(self.inner_, sector, data, count);
    };
    config->sync = [](const lunar_config* c) {
      auto& self = of(c);
      self.flushes++;
      return self.inner_->sync(self.inner_);
    };
    config->sector_bytes = inner_->sector_bytes, config->sector_count = inner_->sector_count;
  }

  std::uint64_t reads = 0, writes = 0, flushes = 0, sectors_read = 0, sectors_written = 0, log_sectors_written = 0;
  std::uint32_t log_at = 0, log_sectors = 0;

 private:
  static CountedDevice& of(const lunar_config* config) { return *static_cast<CountedDevice*>(config->context); }
  lunar_config* inner_;
};

}  // namespace lunar_bench

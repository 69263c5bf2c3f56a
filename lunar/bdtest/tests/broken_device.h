// A simulated device, and devices that break one promise each.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "emubd.h"

namespace bdtest_tests {

class Emulated {
 public:
  explicit Emulated(std::uint32_t sectors = 8192, std::uint32_t sector_bytes = 512) {
    if (emubd_open(&device, sector_bytes, sectors) != 0) throw std::bad_alloc();
    emubd_config(&device, &config);
  }
  ~Emulated() { emubd_close(&device); }
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;

  emubd device{};
  lunar_config config{};
};

// Passes every request on, unless a fault is set.
class Broken : public Emulated {
 public:
  using Read = std::function<int(std::uint32_t, void*, std::uint32_t)>;
  using Write = std::function<int(std::uint32_t, const void*, std::uint32_t)>;

  explicit Broken(std::uint32_t sectors = 8192) : Emulated(sectors), inner(config) {
    read = [this](std::uint32_t at, void* data, std::uint32_t n) { return inner.read(&inner, at, data, n); };
    write = [this](std::uint32_t at, const void* data, std::uint32_t n) { return inner.write(&inner, at, data, n); };
    config.context = this;
    config.read = [](const lunar_config* c, std::uint32_t at, void* data, std::uint32_t n) {
      return static_cast<Broken*>(c->context)->read(at, data, n);
    };
    config.write = [](const lunar_config* c, std::uint32_t at, const void* data, std::uint32_t n) {
      return static_cast<Broken*>(c->context)->write(at, data, n);
    };
    config.sync = [](const lunar_config* c) {
      auto& self = *static_cast<Broken*>(c->context);
      return self.inner.sync(&self.inner);
    };
  }
  lunar_config inner;
  Read read;
  Write write;
};

}  // namespace bdtest_tests

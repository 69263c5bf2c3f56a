#include "checks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "stamp.h"

namespace bdtest {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }

 private:
  std::mt19937 engine_;
};

std::string number(std::uint64_t n) { return std::to_string(n); }

class Checker {
 public:
  Checker(const lunar_config& device, std::uint32_t run) : device_(device), run_(run), one_(device.sector_bytes) {}

  bool write(std::uint32_t sector, std::uint32_t count, std::uint64_t version, std::size_t offset = 0) {
    Bytes bytes(std::size_t{count} * device_.sector_bytes + offset + 64);
    std::uint8_t* data = aligned(bytes) + offset;
    for (std::uint32_t i = 0; i < count; ++i)
      write_stamp({run_, sector + i, version}, data + std::size_t{i} * device_.sector_bytes, device_.sector_bytes);
    if (device_.write(&device_, sector, data, count) == 0) return true;
    bad("writing " + number(count) + " sectors at " + number(sector) + " failed");
    return false;
  }

  bool sync() {
    if (device_.sync(&device_) == 0) return true;
    bad("a flush failed");
    return false;
  }

  // What differs from the stamp in what was read; empty: nothing.
  std::string difference(const std::uint8_t* data, std::uint32_t sector, std::uint64_t version) const {
    const auto seen = read_stamp(data, device_.sector_bytes);
    if (!seen || seen->stamp.run != run_) return "has nothing of what was written";
    if (seen->stamp.sector != sector) return "has what was written to sector " + number(seen->stamp.sector);
    if (seen->stamp.version != version) return "has an older content";
    return seen->whole ? "" : "has changed bytes";
  }

  bool reads(std::uint32_t sector, std::uint32_t count, std::uint64_t version, std::size_t offset = 0) {
    Bytes bytes(std::size_t{count} * device_.sector_bytes + offset + 64);
    std::uint8_t* data = aligned(bytes) + offset;
    if (device_.read(&device_, sector, data, count) != 0) {
      bad("reading " + number(count) + " sectors at " + number(sector) + " failed");
      return false;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto text = difference(data + std::size_t{i} * device_.sector_bytes, sector + i, version);
      if (text.empty()) continue;
      bad("sector " + number(sector + i) + " " + text + requested(count, offset));
      return false;
    }
    return true;
  }

  void bad(const std::string& what) { findings.push_back({Verdict::bad, what}); }
  void good(const std::string& what) { findings.push_back({Verdict::good, what}); }
  const lunar_config& device() const { return device_; }

  Findings findings;

 private:
  static std::uint8_t* aligned(Bytes& bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (64 - address % 64) % 64;
  }
  static std::string requested(std::uint32_t count, std::size_t offset) {
    return " (a request of " + number(count) + " sectors" + (offset != 0 ? ", buffer not aligned)" : ")");
  }
  const lunar_config& device_;
  std::uint32_t run_;
  Bytes one_;
};

std::set<std::uint32_t> places(const lunar_config& device, std::uint32_t seed) {
  Random random(seed);
  std::set<std::uint32_t> chosen{0, device.sector_count - 1};
  for (std::uint64_t power = 1; power < device.sector_count; power *= 2) {
    chosen.insert(static_cast<std::uint32_t>(power));
    chosen.insert(static_cast<std::uint32_t>(device.sector_count - power));
  }
  for (std::uint32_t i = 0; i < std::min(1000U, device.sector_count / 2); ++i)
    chosen.insert(random.below(device.sector_count));
  return chosen;
}

}  // namespace

Findings check_capacity(const lunar_config& device, std::uint32_t seed) {
  Checker check(device, seed);
  const auto chosen = places(device, seed);
  for (const auto sector : chosen) {
    if (!check.write(sector, 1, 1)) return check.findings;
  }
  if (!check.sync()) return check.findings;
  for (const auto sector : chosen) {
    if (!check.reads(sector, 1, 1)) {
      check.bad("the device does not keep " + number(device.sector_count) +
                " sectors apart: a false capacity, or lost writes");
      return check.findings;
    }
  }
  Bytes beyond(device.sector_bytes);
  if (device.read(&device, device.sector_count, beyond.data(), 1) == 0)
    check.bad("a read beyond the last sector did not fail");
  else
    check.good("all " + number(device.sector_count) + " sectors are there and apart (" + number(chosen.size()) +
               " tried)");
  return check.findings;
}

Findings check_read_back(const lunar_config& device, std::uint32_t seed) {
  Checker check(device, seed + 1);
  const std::uint32_t unit = 8, count = std::min(512U, device.sector_count / unit);
  const std::uint32_t step = device.sector_count / count;
  for (std::uint64_t version = 1; version <= 2; ++version) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!check.write(i * step, std::min(unit, step), version)) return check.findings;
    }
    if (!check.sync()) return check.findings;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!check.reads(i * step, std::min(unit, step), version)) return check.findings;
    }
  }
  check.good("what was written is read back, also where it was written again");
  return check.findings;
}

Findings check_requests(const lunar_config& device, std::uint32_t seed) {
  Checker check(device, seed + 2);
  std::uint64_t version = 1;
  for (const std::uint32_t count : {1U, 2U, 3U, 7U, 8U, 9U, 63U, 64U, 65U, 128U}) {
    if (count + 1 >= device.sector_count) break;
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4}}) {
      const std::uint32_t sector = 1 + static_cast<std::uint32_t>(version) % (device.sector_count - count - 1);
      if (!check.write(sector, count, version, offset) || !check.reads(sector, count, version, 4 - offset))
        return check.findings;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (!check.reads(sector + i, 1, version)) return check.findings;
      }
      version++;
    }
  }
  check.good("requests of 1 to 128 sectors do what single ones do, also with buffers aligned to 4 bytes only");
  return check.findings;
}

Findings check_order(const lunar_config& device, std::uint32_t seed) {
  Checker check(device, seed + 3);
  Random random(seed);
  const std::uint32_t area = std::min(256U, device.sector_count);
  std::map<std::uint32_t, std::uint64_t> now;
  for (std::uint64_t version = 1; version <= 2000; ++version) {
    const std::uint32_t count = 1 + random.below(std::min(16U, area)), sector = random.below(area - count + 1);
    if (!check.write(sector, count, version)) return check.findings;
    for (std::uint32_t i = 0; i < count; ++i) now[sector + i] = version;
    const auto chosen =
        std::next(now.begin(), static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(now.size()))));
    if (!check.reads(chosen->first, 1, chosen->second)) return check.findings;
    if (version % 100 == 0 && !check.sync()) return check.findings;
  }
  for (const auto& [sector, version] : now) {
    if (!check.reads(sector, 1, version)) return check.findings;
  }
  check.good("the last of several writes to a sector counts");
  return check.findings;
}

Findings check_device(const lunar_config& device, std::uint32_t seed) {
  Findings all;
  for (const auto check : {check_requests, check_order, check_read_back, check_capacity}) {
    const auto found = check(device, seed);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace bdtest

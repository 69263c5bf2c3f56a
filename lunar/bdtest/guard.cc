#include "guard.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace bdtest {
namespace {

struct Signature {
  const char* what;
  std::size_t at;
  std::string_view bytes;
};

using namespace std::string_view_literals;
constexpr Signature signatures[] = {{"a GPT partition table", 512, "EFI PART"sv},
                                    {"a GPT partition table", 4096, "EFI PART"sv},
                                    {"an ext2, ext3 or ext4 file system", 1080, "\x53\xef"sv},
                                    {"an XFS file system", 0, "XFSB"sv},
                                    {"a Btrfs file system", 65600, "_BHRfS_M"sv},
                                    {"an F2FS file system", 1024, "\x10\x20\xf5\xf2"sv},
                                    {"an exFAT file system", 3, "EXFAT   "sv},
                                    {"an NTFS file system", 3, "NTFS    "sv},
                                    {"a SquashFS image", 0, "hsqs"sv},
                                    {"swap space", 4086, "SWAPSPACE2"sv},
                                    {"an encrypted volume (LUKS)", 0, "LUKS\xba\xbe"sv},
                                    {"a physical volume of LVM", 512, "LABELONE"sv},
                                    {"a CD image", 32769, "CD001"sv},
                                    {"a littlefs file system", 8, "littlefs"sv},
                                    {lunar_volume, 4, "LUNR"sv},
                                    {"a partition table or a FAT file system", 510, "\x55\xaa"sv}};

constexpr std::size_t examined_bytes = 68 * 1024;

std::string mounted_at(dev_t device) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, numbers, root, place;
    fields >> id >> parent >> numbers >> root >> place;
    if (numbers == std::to_string(major(device)) + ":" + std::to_string(minor(device))) return place;
  }
  return {};
}

bool any_entry(const std::string& folder) {
  std::error_code error;
  return std::filesystem::directory_iterator(folder, error) != std::filesystem::directory_iterator();
}

std::string partition_mounted(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(entry.path() / "dev");
    unsigned first = 0, second = 0;
    char colon = 0;
    if (!std::filesystem::exists(entry.path() / "partition") || !(file >> first >> colon >> second)) continue;
    const auto place = mounted_at(makedev(first, second));
    if (!place.empty()) return entry.path().filename().string() + " of it is mounted at " + place;
  }
  return {};
}

// Linux keeps two exclusive users of a block device apart: mounts, RAID, swap are such users.
bool held(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC);
  if (descriptor < 0) return errno == EBUSY;
  close(descriptor);
  return false;
}

}  // namespace

std::string in_use(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) return {};
  const auto place = mounted_at(status.st_rdev);
  if (!place.empty()) return "it is mounted at " + place;
  const std::string folder =
      "/sys/dev/block/" + std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
  if (any_entry(folder + "/holders")) return "another device (LVM, RAID, encryption) lies on it";
  const auto partition = partition_mounted(folder);
  return !partition.empty() ? partition : held(path) ? "another program holds it" : "";
}

bool is_nonzero_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  bool nonzero = false;
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    std::vector<char> bytes(std::size_t{1} << 20);
    for (off_t at = 0; !nonzero && at < status.st_size;) {
      if (const off_t data = lseek(file, at, SEEK_DATA); data >= 0)
        at = data;  // holes are zeros
      else if (errno == ENXIO)
        break;
      const ssize_t count = pread(file, bytes.data(), bytes.size(), at);
      nonzero = count <= 0 ||  // what cannot be read is not known to be zero
                std::any_of(bytes.begin(), bytes.begin() + count, [](char byte) { return byte != 0; });
      at += count;
    }
  }
  if (file >= 0) close(file);
  return nonzero;
}

std::string contents_of(const lunar_config& device) {
  const auto sectors = std::min<std::uint32_t>(examined_bytes / device.sector_bytes, device.sector_count);
  std::vector<std::uint8_t> bytes(std::size_t{sectors} * device.sector_bytes);
  for (std::uint32_t i = 0; i < sectors; ++i) {
    if (device.read(&device, i, bytes.data() + std::size_t{i} * device.sector_bytes, 1) != 0) break;
  }
  for (const auto& [what, at, signature] : signatures) {
    if (at + signature.size() <= bytes.size() &&
        std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0)
      return what;
  }
  return {};
}

}  // namespace bdtest

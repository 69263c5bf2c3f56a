#include "served_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace eco {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool ServedFiles::serves(const std::string& name) {
  const std::string_view view(name);
  if (view == "CURRENT" || view == "IDENTITY") return true;
  for (const std::string_view head : {"MANIFEST-", "OPTIONS-"})
    if (view.starts_with(head)) return is_number(view.substr(head.size()));
  const auto dot = view.rfind('.');
  if (dot == std::string_view::npos) return false;
  return is_number(view.substr(0, dot)) && (view.substr(dot) == ".sst" || view.substr(dot) == ".blob");
}

bool ServedFiles::answer(const proto::List& list, proto::FromPrimary& answer) const {
  std::vector<std::string> names;
  if (!files_->GetChildren(database_, {}, &names, nullptr).ok()) return false;
  auto& found = *answer.mutable_files();
  found.set_request(list.request());
  for (const auto& name : names) {
    std::uint64_t bytes = 0;
    // Skips a file deleted meanwhile.
    if (!serves(name) || !files_->GetFileSize(database_ + '/' + name, {}, &bytes, nullptr).ok()) continue;
    auto& file = *found.add_files();
    file.set_name(name), file.set_bytes(bytes);
  }
  return true;
}

bool ServedFiles::answer(const proto::Read& read, proto::FromPrimary& answer) {
  if (read.bytes() > read_bytes_max) return false;
  auto* file = serves(read.file()) ? open(read.file()) : nullptr;
  auto& bytes = *answer.mutable_bytes();
  std::string& data = *bytes.mutable_data();
  data.resize(read.bytes());
  rocksdb::Slice got;
  if (file == nullptr || !file->Read(read.offset(), data.size(), {}, &got, data.data(), nullptr).ok()) {
    answer.mutable_missing()->set_request(read.request());
    return true;
  }
  if (got.data() != data.data()) std::memmove(data.data(), got.data(), got.size());
  data.resize(got.size());
  bytes.set_request(read.request());
  return true;
}

bool ServedFiles::answer(const proto::Read& read, DataChannel& channel, std::uint64_t& bytes) {
  proto::FromPrimary message;
  struct stat now {};
  const int file = read.bytes() <= read_bytes_max && serves(read.file()) ? open_plain(read.file()) : -1;
  if (file >= 0 && fstat(file, &now) == 0) {
    const auto size = static_cast<std::uint64_t>(now.st_size);
    const std::uint64_t there = read.offset() < size ? std::min(read.bytes(), size - read.offset()) : 0;
    message.mutable_bytes()->set_request(read.request());
    bytes += there;
    return channel.send_file(message, file, read.offset(), there);
  }
  if (!answer(read, message)) return false;
  std::string data;
  if (message.has_bytes()) data.swap(*message.mutable_bytes()->mutable_data());
  bytes += data.size();
  return channel.send(message, data);
}

int ServedFiles::open_plain(const std::string& name) {
  if (files_ != rocksdb::FileSystem::Default()) return -1;
  Fd& file = plain_[name];
  if (!file) file = Fd(::open((database_ + '/' + name).c_str(), O_RDONLY | O_CLOEXEC));
  return file.get();
}

rocksdb::FSRandomAccessFile* ServedFiles::open(const std::string& name) {
  auto& file = open_[name];
  if (!file && !files_->NewRandomAccessFile(database_ + '/' + name, {}, &file, nullptr).ok()) return nullptr;
  return file.get();
}

}  // namespace eco

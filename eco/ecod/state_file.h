// What outlives a restart of ecod, as one protobuf file that is replaced as a whole.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>

#include "eco.pb.h"
#include "result.h"

namespace eco {

class StateFile {
 public:
  // Reads `directory`/state, or begins with nothing. Throws std::runtime_error where it is there and cannot be read.
  explicit StateFile(const std::filesystem::path& directory);

  [[nodiscard]] proto::SavedState get() const;
  // On disk when it returns.
  Result<> change(const std::function<void(proto::SavedState&)>& change);

 private:
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  proto::SavedState state_;
};

}  // namespace eco

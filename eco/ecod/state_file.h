// The state that survives a restart of ecod: one protobuf file, replaced as a whole.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>

#include "eco.pb.h"
#include "result.h"

namespace eco {

class StateFile {
 public:
  // Reads `directory`/state, or starts empty. Throws std::runtime_error if the file exists and cannot be read.
  explicit StateFile(const std::filesystem::path& directory);

  [[nodiscard]] proto::SavedState get() const;
  // The change is on disk when it returns.
  Result<> change(const std::function<void(proto::SavedState&)>& change);

 private:
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  proto::SavedState state_;
};

}  // namespace eco

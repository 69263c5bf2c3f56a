// Serves one file by FUSE.
#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "block_trace.h"

namespace edgejoule::driver {

// Serves `image` as a file of the directory, by whatever name it is asked for, until the file system is unmounted and
// the file closed; `ready` is called once it is mounted. Each write and each sync is added to the trace, if there is
// one, before it is answered; when the trace is full, writes fail with ENOSPC. Throws std::runtime_error.
void serve_disk(std::span<std::byte> image, BlockTrace* trace, const std::filesystem::path& directory,
                const std::function<void()>& ready);

}  // namespace edgejoule::driver

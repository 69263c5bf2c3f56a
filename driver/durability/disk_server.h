// Serves one file by FUSE.
#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "block_trace.h"

namespace edgejoule::driver {

// Serves `image` as a file of the directory, under any name, until the file system is unmounted and the file closed.
// Calls `ready` once it is mounted. Adds each write and sync to the trace, if there is one, before answering it. If the
// trace is full, writes fail with ENOSPC. Throws std::runtime_error.
void serve_disk(std::span<std::byte> image, BlockTrace* trace, const std::filesystem::path& directory,
                const std::function<void()>& ready);

}  // namespace edgejoule::driver

// SQLite past the kernel's page cache.
#pragma once

namespace lunar_bench {

// The name of a VFS, registered at the first call: the default one, but main database files are read and written with
// O_DIRECT, sectors of 512 bytes. Journals and WAL stay in the page cache. Page sizes from 512 bytes on, no mmap.
// Opening fails with SQLITE_CANTOPEN where the file system has no O_DIRECT.
const char* sqlite_direct_vfs();

}  // namespace lunar_bench

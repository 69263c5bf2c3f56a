# Toolchain for boards with a 64-bit ARM processor (Debian's arm64).
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(EDGEJOULE_BOARD arm64)
set(EDGEJOULE_TRIPLET aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)

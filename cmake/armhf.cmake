# Toolchain for boards with a 32-bit ARM processor, ARMv7 or newer (Debian's armhf).
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(EDGEJOULE_BOARD armhf)
set(EDGEJOULE_TRIPLET arm-linux-gnueabihf)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)

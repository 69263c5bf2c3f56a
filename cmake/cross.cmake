# Settings that all boards share: Debian's cross compiler, and the libraries that tools/sysroot unpacks. This machine's
# headers and libraries are not used.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${EDGEJOULE_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${EDGEJOULE_TRIPLET}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${EDGEJOULE_TRIPLET})
cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR NORMALIZE OUTPUT_VARIABLE edgejoule_cmake)
cmake_path(GET edgejoule_cmake PARENT_PATH edgejoule_repository)
set(CMAKE_SYSROOT ${edgejoule_repository}/build/sysroot/${EDGEJOULE_BOARD})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

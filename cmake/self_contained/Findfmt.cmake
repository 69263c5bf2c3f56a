# Debian has no static library of fmt: here it is used as headers.
find_path(fmt_INCLUDE_DIR fmt/format.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(fmt REQUIRED_VARS fmt_INCLUDE_DIR)
if(fmt_FOUND AND NOT TARGET fmt::fmt)
  add_library(fmt::fmt INTERFACE IMPORTED)
  set_target_properties(fmt::fmt PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${fmt_INCLUDE_DIR}" INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
endif()

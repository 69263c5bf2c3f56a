# A driver that runs where it is copied: everything but the C library is linked statically. The C library stays shared,
# because name services and the kernel's fast clocks belong to the machine it runs on.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(ZLIB_USE_STATIC_LIBS ON)
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/self_contained)
add_link_options(-static-libstdc++ -static-libgcc -s)

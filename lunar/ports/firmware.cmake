# lunar_firmware_library(NAME DEFINITIONS): builds the library for size. lunar_firmware(NAME DEFINITIONS FILES...):
# builds firmware.c with that library and a port's files. Included by a port's project, with its toolchain.
include(${CMAKE_CURRENT_LIST_DIR}/../modules.cmake)
lunar_sources(LUNAR_SOURCES)
set(LUNAR_C_FLAGS "" CACHE STRING "further flags for the library, for example -msave-restore")
set(LUNAR_FLAGS -Os -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -ffunction-sections -fdata-sections)
separate_arguments(LUNAR_MORE_FLAGS UNIX_COMMAND "${LUNAR_C_FLAGS}")

# A build without any module but the basic one.
file(STRINGS ${LUNAR_DIRECTORY}/src/modules.h switches REGEX "^#define LUNAR_WITH_")
list(TRANSFORM switches REPLACE "^#define (LUNAR_WITH_[A-Z]+) .*" "\\1=0")
set(LUNAR_BASIC ${switches})

function(lunar_firmware_library name definitions)
  add_library(lunar-${name} STATIC ${LUNAR_SOURCES})
  target_include_directories(lunar-${name} PUBLIC ${LUNAR_DIRECTORY}/include)
  target_compile_definitions(lunar-${name} PUBLIC ${definitions})
  target_compile_options(lunar-${name} PRIVATE ${LUNAR_FLAGS} ${LUNAR_MORE_FLAGS} -ffreestanding)
endfunction()

function(lunar_firmware name definitions)
  lunar_firmware_library(${name} "${definitions}")
  set(portable ${LUNAR_DIRECTORY}/tests/portable)
  add_executable(firmware-${name} ${ARGN} ${portable}/firmware.c ${portable}/lines.c ${portable}/on_disk.c
    ${portable}/portable_tests.c ${portable}/ram_use.c ${portable}/ycsb.c)
  set_target_properties(firmware-${name} PROPERTIES SUFFIX .elf)
  target_include_directories(firmware-${name} PRIVATE ${portable} ${LUNAR_DIRECTORY}/src)
  target_compile_options(firmware-${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:${LUNAR_FLAGS}>)
  target_link_options(firmware-${name} PRIVATE -Wl,--gc-sections)
  target_link_libraries(firmware-${name} PRIVATE lunar-${name})
endfunction()

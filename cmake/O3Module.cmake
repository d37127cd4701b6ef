# o3_module(NAME SOURCES ... DEPS other modules ... LINK external libraries ...)
#   one static library per folder of src/; DEPS is the same list the lint checks.
# o3_test(NAME SOURCES ... DEPS ... [LABELS ...]) one GoogleTest program per module.
include(GNUInstallDirs)

add_library(o3_flags INTERFACE)
target_include_directories(o3_flags INTERFACE "${PROJECT_SOURCE_DIR}/src")
# These are for the C++ compilers; files of nvcc have their own (Cuda.cmake).
set(cxx_flags
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  -fno-math-errno -ffp-contract=off -fno-omit-frame-pointer
  # g++ 12 sees overlapping copies in ordinary std::string concatenation (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_compile_options(o3_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${cxx_flags}>")
# Hardening, for a program that reads what strangers send: canaries, checked libc calls (they need
# optimisation), stack probes, control-flow marks; a position-independent program whose relocations are
# read-only once it runs. The sanitizers have stronger checks in their place.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
if(NOT O3_SANITIZE)
  set(hardening -fstack-protector-strong -fstack-clash-protection -fcf-protection
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>)
  target_compile_options(o3_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${hardening}>")
  target_link_options(o3_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
if(O3_SANITIZE)
  target_compile_options(o3_flags INTERFACE -fsanitize=${O3_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(o3_flags INTERFACE -fsanitize=${O3_SANITIZE})
endif()
if(O3_BUILD_FUZZERS)
  target_compile_options(o3_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(o3_module name)
  cmake_parse_arguments(M "" "" "SOURCES;DEPS;LINK" ${ARGN})
  add_library(o3_${name} STATIC ${M_SOURCES})
  add_library(o3::${name} ALIAS o3_${name})
  target_link_libraries(o3_${name} PUBLIC o3_flags ${M_LINK})
  foreach(dep IN LISTS M_DEPS)
    target_link_libraries(o3_${name} PUBLIC o3::${dep})
  endforeach()
endfunction()

# Everything that runs under TSan: the tests labelled `threads`.
add_custom_target(thread_tests)

function(o3_test name)
  cmake_parse_arguments(T "" "" "SOURCES;DEPS;LINK;LABELS" ${ARGN})
  if(NOT O3_BUILD_TESTS)
    return()
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE o3_flags GTest::gtest_main ${T_LINK})
  foreach(dep IN LISTS T_DEPS)
    target_link_libraries(${name} PRIVATE o3::${dep})
  endforeach()
  target_compile_definitions(${name} PRIVATE O3_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if("threads" IN_LIST T_LABELS)
    add_dependencies(thread_tests ${name})
  endif()
  # Skipped: every test of the program was, and none failed.
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" TIMEOUT 600
    SKIP_REGULAR_EXPRESSION
      "PASSED  . 0 tests.\n.  SKIPPED . [0-9]+ tests?, listed below:\n(.  SKIPPED . [^\n]*\n)*$")
endfunction()

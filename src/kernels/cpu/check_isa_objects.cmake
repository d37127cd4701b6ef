# SPDX-License-Identifier: Apache-2.0
# Fails when an object compiled with ISA flags defines a weak function: the linker might keep it for
# the whole program (the rule in linear_tile.h).  -DNM=nm -DOBJECTS=a.o|b.o
string(REPLACE "|" ";" objects "${OBJECTS}")
list(FILTER objects INCLUDE REGEX "_(avx2|avx512|amx)[a-z0-9_]*\\.cc")
if(NOT objects)
  message(FATAL_ERROR "no ISA objects among ${OBJECTS}")
endif()
foreach(object IN LISTS objects)
  execute_process(COMMAND "${NM}" -C "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* W [^\n]*" weak "${symbols}")
  if(weak)
    message(SEND_ERROR "${object} defines weak functions: ${weak}")
  endif()
endforeach()

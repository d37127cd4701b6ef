# nvcc and the toolkit's libraries, for presets with O3_CUDA. The runtime is linked in; cuBLASLt is a shared
# library of the toolkit. sm_90a is real code for Hopper alone: wgmma and bulk copies are not in plain sm_90.
set(CMAKE_CUDA_ARCHITECTURES 90a-real)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin REQUIRED)
enable_language(CUDA)
find_package(CUDAToolkit 13.0 REQUIRED)
# CMake 3.25 does not know this compiler's switch.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)

# o3_cuda_library(NAME SOURCES ... DEPS other modules ...): .cu files of one folder. They get the host flags that matter to
# them; warnings of device code are errors as well.
function(o3_cuda_library name)
  cmake_parse_arguments(M "" "" "SOURCES;DEPS" ${ARGN})
  add_library(o3_${name} STATIC ${M_SOURCES})
  add_library(o3::${name} ALIAS o3_${name})
  target_include_directories(o3_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(o3_${name} PRIVATE -O3 --expt-relaxed-constexpr -Werror=all-warnings
    -Xcompiler=-Wall,-Wextra,-fstack-protector-strong)
  target_link_libraries(o3_${name} PUBLIC CUDA::cudart_static)
  foreach(dep IN LISTS M_DEPS)
    target_link_libraries(o3_${name} PUBLIC o3::${dep})
  endforeach()
endfunction()

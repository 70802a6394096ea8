# What the NCCL transport needs: nvcc, the CUDA runtime, NCCL's header and library.
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPUs that the kernels are compiled for")
endif()
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)  # CMake before 3.26 does not know nvcc's C++20
find_path(ROUTEPACK_NCCL_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} REQUIRED)
find_library(ROUTEPACK_NCCL_LIBRARY nccl
  HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib REQUIRED)
set(ROUTEPACK_NCCL_DEPENDENCY "find_dependency(CUDAToolkit)")  # of the installed package

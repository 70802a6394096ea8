find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
if(ROUTEPACK_BUILD_PROGRAM)
  find_package(Boost 1.74 REQUIRED CONFIG COMPONENTS program_options)
endif()

# Header-only or without a CMake package in Debian.
find_path(ROUTEPACK_RANDOM123_DIR Random123/philox.h REQUIRED)
find_path(ROUTEPACK_XXHASH_DIR xxhash.h REQUIRED)

if(ROUTEPACK_WITH_NCCL)
  include(RoutePackNccl)
endif()

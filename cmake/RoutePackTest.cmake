# routepack_mpi_test(NAME SOURCES ... RANKS 1 2 3 4 LABELS ...): one program, one CTest entry a rank count.
# routepack_test(NAME SOURCES ... LABELS ...): a program that needs no MPI start-up.
find_package(GTest REQUIRED)

# What set_mpi_environment of launch/common.sh sets, and what only tests need.
set(routepack_mpi_environment
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  OMPI_MCA_hwloc_base_binding_policy=none
  # The same for Open MPI 5, whose mpirun is PRRTE's.
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
  # More ranks times threads than cores: threads that spin at the end of a parallel region would keep
  # the others from ending it.
  OMP_WAIT_POLICY=passive
  MPIEXEC_TIMEOUT=290)
if(ROUTEPACK_SANITIZE MATCHES "address")
  # Open MPI keeps memory until exit; leaks of our own are looked for under valgrind instead.
  list(APPEND routepack_mpi_environment ASAN_OPTIONS=detect_leaks=0)
endif()

add_library(routepack_test_support STATIC
  ${PROJECT_SOURCE_DIR}/mpi_tests/support/mpi_listener.cpp
  ${PROJECT_SOURCE_DIR}/mpi_tests/support/main.cpp)
target_link_libraries(routepack_test_support PUBLIC routepack GTest::gtest GTest::gmock routepack_flags)
target_include_directories(routepack_test_support PUBLIC ${PROJECT_SOURCE_DIR}/mpi_tests)

# A folder for temporary files of each entry's own: two mpiruns that start at once would meet in
# Open MPI's session folder. Its path is short, since sockets are made below it.
function(routepack_test_environment entry)
  get_property(number GLOBAL PROPERTY routepack_test_number)
  math(EXPR number "${number} + 1")
  set_property(GLOBAL PROPERTY routepack_test_number ${number})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/t/${number})
  set_tests_properties(${entry} PROPERTIES
    ENVIRONMENT "${routepack_mpi_environment};TMPDIR=${PROJECT_BINARY_DIR}/t/${number}")
endfunction()
set_property(GLOBAL PROPERTY routepack_test_number 0)

function(routepack_mpi_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;RANKS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE routepack_test_support)
  foreach(ranks IN LISTS arg_RANKS)
    set(labels mpi ${arg_LABELS})
    if(ranks GREATER 4)
      list(APPEND labels wide)
    endif()
    add_test(NAME ${name}.np${ranks}
      COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.np${ranks} PROPERTIES
      PROCESSORS ${ranks} TIMEOUT ${arg_TIMEOUT} LABELS "${labels}")
    routepack_test_environment(${name}.np${ranks})
  endforeach()
endfunction()

function(routepack_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE routepack routepack_flags GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/mpi_tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "pure;${arg_LABELS}")
  routepack_test_environment(${name})
endfunction()

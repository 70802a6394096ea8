# One interface target carries the flags of every RoutePack target.
add_library(routepack_flags INTERFACE)
target_compile_options(routepack_flags INTERFACE
  -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wundef
  # g++ and clang fuse a*b+c once FMA is enabled, which would change costs between SIMD levels.
  -ffp-contract=off
  # Position-independent code may inline its own functions: nobody replaces them at load time.
  -fno-semantic-interposition)
if(ROUTEPACK_WARNINGS_AS_ERRORS)
  target_compile_options(routepack_flags INTERFACE -Werror)
endif()
if(ROUTEPACK_SANITIZE)
  target_compile_options(routepack_flags INTERFACE
    -fsanitize=${ROUTEPACK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(routepack_flags INTERFACE -fsanitize=${ROUTEPACK_SANITIZE})
endif()

set(routepack_assert_levels none light normal heavy)
list(FIND routepack_assert_levels "${ROUTEPACK_ASSERT_LEVEL}" routepack_assert_index)
if(routepack_assert_index LESS 0)
  message(FATAL_ERROR "ROUTEPACK_ASSERT_LEVEL is ${ROUTEPACK_ASSERT_LEVEL}, not one of ${routepack_assert_levels}")
endif()
target_compile_definitions(routepack_flags INTERFACE
  ROUTEPACK_ASSERT_LEVEL=${routepack_assert_index} OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

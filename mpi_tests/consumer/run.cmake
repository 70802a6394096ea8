# cmake -D BUILD=… -D WORK=… -D SOURCE=… -D COMPILER=… -D FLAGS=… -D TYPE=… -D NM=… -D MPIEXEC=… -P run.cmake
# Installs BUILD into a fresh prefix under WORK, moves that elsewhere, then builds and runs the consumer in SOURCE.
cmake_minimum_required(VERSION 3.22)
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed with ${status}: ${command}")
  endif()
endfunction()

# FILE may name neither the build folder nor the prefix that it was installed into.
function(check_movable file)
  file(READ ${file} text)
  foreach(folder ${BUILD} ${WORK}/installed)
    string(FIND "${text}" "${folder}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}")
    endif()
  endforeach()
endfunction()

# FILE may neither define nor need symbols of Boost.
function(check_without_boost file)
  execute_process(COMMAND ${NM} -C ${file} OUTPUT_VARIABLE symbols ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT symbols MATCHES "routepack::make_plan")
    message(FATAL_ERROR "${NM} finds no make_plan in ${file}")
  endif()
  if(symbols MATCHES "boost::[^\n]*")
    message(FATAL_ERROR "${file} has the symbol ${CMAKE_MATCH_0}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
file(RENAME ${WORK}/installed ${WORK}/moved)
file(GLOB_RECURSE packages ${WORK}/moved/*.cmake)
foreach(package IN LISTS packages)
  check_movable(${package})
endforeach()
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
  -DCMAKE_PREFIX_PATH=${WORK}/moved -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
  -DCMAKE_BUILD_TYPE=${TYPE})
step(${CMAKE_COMMAND} --build ${WORK}/build)
# As a part of another project, configured only: what the library is made of is built here already.
step(${CMAKE_COMMAND} -S ${SOURCE}/../subproject -B ${WORK}/subproject -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${TYPE})
file(GLOB_RECURSE library ${WORK}/moved/libroutepack.a)
check_without_boost(${library})
check_without_boost(${WORK}/build/consumer)
foreach(program consumer consumer_shared)
  step(${WORK}/build/${program})
  step(${MPIEXEC} -n 2 ${WORK}/build/${program})
endforeach()

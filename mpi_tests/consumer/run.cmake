# cmake -D BUILD=… -D WORK=… -D SOURCE=… -D COMPILER=… -D FLAGS=… -D TYPE=… -P run.cmake
# Installs BUILD into a fresh prefix under WORK, then builds and runs the consumer in SOURCE.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed with ${status}: ${command}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
  -DCMAKE_BUILD_TYPE=${TYPE})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/consumer)

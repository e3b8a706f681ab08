# What the Zephyr applications of the examples share. An example sets SENSOR (microphone, accelerometer or camera) and
# MODELS, the bundles in its folder build/, and includes this file after project().
set(build ${CMAKE_CURRENT_SOURCE_DIR}/../build)
foreach(model ${MODELS})
  file(GLOB sources CONFIGURE_DEPENDS ${build}/${model}/src/*.c)
  if(NOT sources)
    message(FATAL_ERROR "${build}/${model}: no bundle is there. Run `aboard compile` as the README of the example says")
  endif()
  target_sources(app PRIVATE ${sources})
  target_include_directories(app PRIVATE ${build}/${model}/include)
endforeach()
file(GLOB front_end CONFIGURE_DEPENDS ${build}/front_end/src/*.c)
target_sources(app PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR}/../app/main.c
  ${CMAKE_CURRENT_LIST_DIR}/board.c
  ${CMAKE_CURRENT_LIST_DIR}/${SENSOR}.c
  ${front_end}
)
target_include_directories(app PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/.. ${build} ${build}/front_end/include ${build}/front_end/src
)
# The sensor of an emulated board is a driver that plays a recording.
if(CONFIG_SEMIHOST)
  target_sources(app PRIVATE ${CMAKE_CURRENT_LIST_DIR}/recorded_${SENSOR}.c ${CMAKE_CURRENT_LIST_DIR}/recording.c)
endif()

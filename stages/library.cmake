# libstages, for other programs: shared and static, with what it needs of base/
# inside, and without names that its headers do not declare.
add_library(stages_objects OBJECT ${sources}
	${PROJECT_SOURCE_DIR}/base/cgroup.c ${PROJECT_SOURCE_DIR}/base/histogram.c)
set_target_properties(stages_objects PROPERTIES
	C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
target_link_libraries(stages_objects PRIVATE PkgConfig::ck PkgConfig::hwloc)
set(objects $<TARGET_OBJECTS:stages_objects>)
if(NOT boost_context)
	target_compile_definitions(stages_objects PRIVATE DARKROOM_UCONTEXT)
endif()

set(folder ${PROJECT_BINARY_DIR}/lib)
add_library(stages_shared SHARED ${objects})
set_target_properties(stages_shared PROPERTIES
	OUTPUT_NAME stages VERSION ${PROJECT_VERSION} SOVERSION 0
	LIBRARY_OUTPUT_DIRECTORY ${folder})
target_link_options(stages_shared PRIVATE
	LINKER:--exclude-libs,ALL LINKER:--no-undefined)
target_link_libraries(stages_shared PRIVATE PkgConfig::hwloc m Threads::Threads)
if(boost_context)
	target_link_libraries(stages_shared PRIVATE ${boost_context})
endif()

# One object, in which hidden names are local.
add_custom_command(OUTPUT ${folder}/libstages.a
	COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
	COMMAND ${CMAKE_COMMAND} -E rm -f ${folder}/libstages.a
	COMMAND ${CMAKE_LINKER} -r -o ${folder}/stages.o ${objects} ${boost_context}
	COMMAND ${CMAKE_OBJCOPY} --localize-hidden
		--localize-symbol=make_fcontext --localize-symbol=jump_fcontext
		--localize-symbol=ontop_fcontext ${folder}/stages.o
	COMMAND ${CMAKE_AR} rcs ${folder}/libstages.a ${folder}/stages.o
	DEPENDS stages_objects ${objects} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(stages_static ALL DEPENDS ${folder}/libstages.a)

# pkg-config finds the rest from where the file is.
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
	${CMAKE_INSTALL_PREFIX})
configure_file(stages.pc.in ${folder}/stages.pc @ONLY)
install(TARGETS stages_shared COMPONENT stages)
install(FILES ${folder}/libstages.a
	DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT stages)
install(FILES ${folder}/stages.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT stages)
install(FILES policy.h stage.h stats.h
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stages COMPONENT stages)
# stats.h includes it.
install(FILES ${PROJECT_SOURCE_DIR}/base/histogram.h
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stages/base COMPONENT stages)
install(FILES stages.3
	DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT stages)

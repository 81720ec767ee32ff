# ctest ends a test after 25 minutes.  Only one that hangs takes so long, also on
# a busy machine, so tests have no limits of their own.
# The compiler's time for a test program is more than it saves when the test runs:
# half of the sources are tests.
set(test_options -O1)
if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
	set(test_options -O0)
endif()
# Where gold is installed, it links them in less than half of the time.
find_program(gold ld.gold)
# darkroom_test_program(NAME SOURCE LIBS...): a program that asserts and exits, for
# add_test().
function(darkroom_test_program name source)
	add_executable(${name} ${source})
	target_link_libraries(${name} PRIVATE ${ARGN})
	target_compile_options(${name} PRIVATE ${test_options})
	# UndefinedBehaviorSanitizer is for the code that is tested, not for tests:
	# there it would take a third of the compiler's time.
	file(STRINGS ${source} parts REGEX "^#include \".*\\.c\"")
	if(DARKROOM_SANITIZE AND NOT parts)
		target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
	endif()
	if(gold)
		target_link_options(${name} PRIVATE -fuse-ld=gold)
	endif()
endfunction()
# darkroom_test(NAME SOURCE LIBS...): such a program, which runs without arguments.
function(darkroom_test name)
	darkroom_test_program(${name} ${ARGN})
	add_test(NAME ${name} COMMAND ${name})
	set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()
# darkroom_label(LABEL TEST...): add a label to these tests, if they exist in
# this build.  Every test has one of the labels unit, service, browser and
# model.  One that takes more than 3 s on an idle machine also has the label
# slow, and `script/test --fast` leaves it out.
function(darkroom_label label)
	foreach(name ${ARGN})
		if(TEST ${name})
			set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
		endif()
	endforeach()
endfunction()
# darkroom_early(COST TEST...): give those of the tests that exist a COST, about
# their seconds.  Long tests start first, so that none of them is left to run
# alone at the end.
function(darkroom_early cost)
	foreach(name ${ARGN})
		if(TEST ${name})
			set_property(TEST ${name} PROPERTY COST ${cost})
		endif()
	endforeach()
endfunction()
# darkroom_serial_test(NAME SOURCE LIBS...): a test of code with one thread.  It
# is left out with ThreadSanitizer, which would only be slow.
function(darkroom_serial_test)
	if(NOT DARKROOM_SANITIZE MATCHES thread)
		darkroom_test(${ARGN})
	endif()
endfunction()
# darkroom_folder_repeated(SANITIZER): in builds with a sanitizer whose name matches
# this, `script/test --slow` leaves out all tests of this folder.
function(darkroom_folder_repeated sanitizer)
	get_property(names DIRECTORY PROPERTY TESTS)
	if(DARKROOM_SANITIZE MATCHES "${sanitizer}")
		darkroom_label(repeated ${names})
	endif()
endfunction()

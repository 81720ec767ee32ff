# Policies, with flags, with which service tests run once more: NAME@POLICY.
set(policies capriccio servlib "servlib --threads 1:1")
option(DARKROOM_EVERY_POLICY "run all service tests with every policy" OFF)
# Tests of what service/direct/ must do as the other transport, which run with
# servlib in the release build although they take long.
set(direct_tests service_auth service_chunked service_control service_ends
	service_slow service_smuggling)
# Builds: 0 release, 1 AddressSanitizer, 2 ThreadSanitizer.
if(DARKROOM_SANITIZE MATCHES thread)
	set(build 2)
elseif(DARKROOM_SANITIZE)
	set(build 1)
else()
	set(build 0)
endif()

# darkroom_add_script(NAME POLICY SCRIPT ARGS...)
function(darkroom_add_script name policy script)
	add_test(NAME ${name}
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
	set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
		ENVIRONMENT
		"DARKROOM=$<TARGET_FILE:darkroom>;LOADGEN=$<TARGET_FILE:loadgen>;CHECK_SIZES=$<TARGET_FILE:check_sizes>;JSON_VALUE=$<TARGET_FILE:json_value>;LACKING=$<TARGET_FILE:lacking>;INHERIT=$<TARGET_FILE:inherit>;FAULTS_LIBRARY=$<TARGET_FILE:faults>;CHECK_FAULTS=$<TARGET_FILE:check_faults>;PRINT_PROFILE=$<TARGET_FILE:print_profile>;PRINT_GAINMAP=$<TARGET_FILE:print_gainmap>;INK_FILES=$<TARGET_FILE:ink_files>;LARGE_PHOTO=$<TARGET_FILE:large_photo>;COMPARE_REPLIES=$<TARGET_FILE:compare_replies>;PRINT_PARAMETERS=$<TARGET_FILE:print_parameters>;PRINT_FIGURES=$<TARGET_FILE:print_figures>;CC=${CMAKE_C_COMPILER};SANITIZED=${DARKROOM_SANITIZE};TEST_IO_THREADS=${io_threads}")
	if(policy)
		set_property(TEST ${name} APPEND PROPERTY
			ENVIRONMENT TEST_POLICY=${policy})
	endif()
	darkroom_label(service ${name})
endfunction()

# darkroom_script(NAME SCRIPT ARGS...): a shell test of the programs.
function(darkroom_script name script)
	darkroom_add_script(${name} "" ${script} ${ARGN})
	file(STRINGS ${script} starts REGEX [[/(server|proxy|isolated)\.sh"$]])
	file(STRINGS ${script} chooses REGEX "^chooses_policies ")
	if(starts AND NOT chooses)
		set_property(GLOBAL APPEND PROPERTY policy_tests ${name})
		set_property(GLOBAL PROPERTY ${name}_left_out ${left_out})
		set_property(GLOBAL PROPERTY ${name}_script ${script} ${ARGN})
	endif()
endfunction()

# darkroom_serial_script(NAME SCRIPT ARGS...): a shell test whose requests follow
# each other, or whose threads do what they do in other tests, too.  It is left out
# with ThreadSanitizer, which would only be slow.
function(darkroom_serial_script name)
	set(left_out 2)
	if(NOT DARKROOM_SANITIZE MATCHES thread)
		darkroom_script(${name} ${ARGN})
	endif()
endfunction()

# darkroom_with_policy(NAME POLICY): run the test once more with this policy.
function(darkroom_with_policy name policy)
	string(REGEX REPLACE " --(threads|stages) " "-" short ${policy})
	get_property(script GLOBAL PROPERTY ${name}_script)
	darkroom_add_script(${name}@${short} ${policy} ${script})
	get_property(cost TEST ${name} PROPERTY COST)
	darkroom_early("${cost}" ${name}@${short})
	# Not one of the tests of `script/test --fast`.
	darkroom_label(policy ${name}@${short})
	darkroom_label(slow ${name}@${short})
endfunction()

# darkroom_with_policies(TEST...): each short test runs once more, with one policy
# and one sanitizer, as its name decides; with AddressSanitizer if ThreadSanitizer
# does not have it, and in the release build if neither has.  So do those of
# `direct_tests`, with servlib and in the release build.  With DARKROOM_EVERY_POLICY,
# each test runs with each policy.
#
# What AddressSanitizer runs with another policy, `script/test --slow` does not run
# there with the default one, too: the release build does.
function(darkroom_with_policies)
	foreach(name ${ARGN})
		string(MD5 turn ${name})
		string(SUBSTRING ${turn} 0 6 turn)
		math(EXPR its_policy "0x${turn} % 3")
		math(EXPR its_build "0x${turn} / 3 % 2 + 1")
		get_property(labels TEST ${name} PROPERTY LABELS)
		get_property(left_out GLOBAL PROPERTY ${name}_left_out)
		if(its_build IN_LIST left_out)
			set(its_build 1)
		endif()
		if(its_build IN_LIST left_out)
			set(its_build 0)
		endif()
		if(name IN_LIST direct_tests)
			set(its_policy 1)
			set(its_build 0)
		elseif(labels MATCHES "slow|browser")
			set(its_build -1)
		endif()
		foreach(policy ${policies})
			list(FIND policies ${policy} index)
			if(DARKROOM_EVERY_POLICY OR (index EQUAL its_policy AND
					build EQUAL its_build))
				darkroom_with_policy(${name} ${policy})
				if(build EQUAL 1)
					darkroom_label(repeated ${name})
				endif()
			endif()
		endforeach()
	endforeach()
endfunction()

/* SPDX-License-Identifier: MIT */
/*
 * Run a program as on a system without Landlock or seccomp.
 *
 * usage: lacking landlock|seccomp PROGRAM ARGS...
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <seccomp.h>

static int lack(scmp_filter_ctx filter, const char *what)
{
	if (strcmp(what, "landlock") == 0)
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
					SCMP_SYS(landlock_create_ruleset), 0);
	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp),
			     0) != 0)
		return -1;
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl),
				1, SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (argc < 3 || filter == NULL || lack(filter, argv[1]) != 0 ||
	    seccomp_load(filter) != 0)
		return 1;
	(void)execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}

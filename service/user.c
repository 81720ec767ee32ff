/* SPDX-License-Identifier: MIT */
#include "service/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

struct account {
	char name[NAME_BYTES]; /* to find the user's groups; "": only `group` */
	uid_t user;
	gid_t group;
};

/* Read the number of a user or group.  False: `text` is not such a number. */
static bool read_id(const char *text, uint32_t *id)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	*id = (uint32_t)n;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
	       n < UINT32_MAX;
}

static bool find_group(const char *text, gid_t *group, struct error *why)
{
	const struct group *found = getgrnam(text);

	if (found != NULL)
		*group = found->gr_gid;
	else if (!read_id(text, group))
		return error_fail(why, "there is no group '%.32s'", text);
	return true;
}

/* `has_group`: a group is given, so the user's own is not needed. */
static bool find_user(const char *text, bool has_group, struct account *a,
		      struct error *why)
{
	const struct passwd *found = getpwnam(text);

	if (found == NULL && !read_id(text, &a->user))
		return error_fail(why, "there is no user '%.32s'", text);
	if (found == NULL)
		found = getpwuid(a->user);
	if (found == NULL && !has_group)
		return error_fail(
			why, "user %.32s has no group: give a group too", text);
	if (found != NULL) {
		a->user = found->pw_uid;
		a->group = found->pw_gid;
		if (!has_group)
			(void)snprintf(a->name, sizeof(a->name), "%s",
				       found->pw_name);
	}
	return a->user != 0 || error_fail(why, "it is root");
}

static bool find(const char *text, struct account *a, struct error *why)
{
	size_t bytes = strcspn(text, ":");
	bool has_group = text[bytes] == ':';
	char name[NAME_BYTES];

	*a = (struct account){ .user = 0 };
	if (bytes == 0 || bytes >= sizeof(name))
		return error_fail(why, "not NAME or NAME:GROUP");
	(void)memcpy(name, text, bytes);
	name[bytes] = '\0';
	return find_user(name, has_group, a, why) &&
	       (!has_group || find_group(text + bytes + 1, &a->group, why));
}

static bool is_already(const struct account *a)
{
	return getuid() == a->user && geteuid() == a->user &&
	       getgid() == a->group && getegid() == a->group;
}

bool user_check(const char *user, struct error *why)
{
	struct account a;

	if (!find(user, &a, why))
		return false;
	return user_is_root() || is_already(&a) ||
	       error_fail(why, "only root can become another user");
}

static bool set_groups(const struct account *a)
{
	return a->name[0] != '\0' ? initgroups(a->name, a->group) == 0 :
				    setgroups(1, &a->group) == 0;
}

bool user_become(const char *user, struct error *why)
{
	struct account a;

	if (!user_check(user, why) || !find(user, &a, why))
		return false;
	if (!user_is_root())
		return true;
	if (!set_groups(&a) || setresgid(a.group, a.group, a.group) != 0 ||
	    setresuid(a.user, a.user, a.user) != 0)
		return error_fail(why, "%s", strerror(errno));
	/* The process must not be able to become root again. */
	if (!is_already(&a) || setuid(0) == 0)
		return error_fail(why, "the process could become root again");
	return true;
}

bool user_is_root(void)
{
	return geteuid() == 0;
}

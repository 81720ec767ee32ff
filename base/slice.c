/* SPDX-License-Identifier: MIT */
#include "base/slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of Linux, of which libcs know the whole or nothing. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* the slice */
	uint64_t deadline_ns;
	uint64_t period_ns;
};

void slice_set(uint64_t ns)
{
	struct attributes a = { 0 };

	/* The other attributes stay as they are. */
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) != 0 ||
	    (a.policy != SCHED_OTHER && a.policy != SCHED_BATCH))
		return;
	a.runtime_ns = ns;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

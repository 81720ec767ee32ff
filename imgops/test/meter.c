/* SPDX-License-Identifier: MIT */
#include "imgops/test/meter.h"

#include "base/test/check.h"

#include <stdlib.h>

enum { HEAD_BYTES = 64 };

static void *meter_alloc(void *arg, size_t bytes)
{
	struct meter *m = arg;
	size_t *head = malloc(HEAD_BYTES + bytes);

	CHECK(head != NULL);
	*head = bytes;
	m->live_bytes += bytes;
	if (m->live_bytes > m->peak_bytes)
		m->peak_bytes = m->live_bytes;
	return (char *)head + HEAD_BYTES;
}

static void meter_free(void *arg, void *block)
{
	struct meter *m = arg;
	size_t *head = (size_t *)((char *)block - HEAD_BYTES);

	m->live_bytes -= *head;
	free(head);
}

void meter_init(struct meter *m)
{
	*m = (struct meter){ .memory = { meter_alloc, meter_free, m } };
}

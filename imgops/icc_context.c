/* SPDX-License-Identifier: MIT */
#include "imgops/icc_context.h"

#include <stdlib.h>

#include <lcms2_plugin.h>

enum { VERSION = 2000, BYTES_MAX = 512 << 20 }; /* as lcms2 has it */

struct icc_block {
	_Alignas(max_align_t) LIST_ENTRY(icc_block) entry;
};

/* NULL: lcms2 is still making the context. */
static struct icc_context *owner(cmsContext lcms)
{
	return cmsGetContextUserData(lcms);
}

static void *keep(struct icc_context *c, struct icc_block *b)
{
	if (b == NULL) {
		if (c != NULL && c->jumps) {
			c->jumps = false;
			longjmp(c->no_memory, 1);
		}
		return NULL;
	}
	if (c != NULL)
		LIST_INSERT_HEAD(&c->blocks, b, entry);
	else
		b->entry.le_prev = NULL;
	return b + 1;
}

static void let_go(struct icc_block *b)
{
	if (b->entry.le_prev != NULL)
		LIST_REMOVE(b, entry);
}

/* What a profile asks for, however much, is no lack of memory. */
static bool is_sane(cmsUInt32Number bytes)
{
	return bytes > 0 && bytes <= BYTES_MAX;
}

static void *take(cmsContext lcms, cmsUInt32Number bytes)
{
	return is_sane(bytes) ? keep(owner(lcms),
				     malloc(sizeof(struct icc_block) + bytes)) :
				NULL;
}

static void give_back(cmsContext lcms, void *at)
{
	struct icc_block *b = at;

	(void)lcms;
	if (at == NULL)
		return;
	let_go(b - 1);
	free(b - 1);
}

static void *resize(cmsContext lcms, void *at, cmsUInt32Number bytes)
{
	struct icc_block *b = at, *moved;

	if (at == NULL)
		return take(lcms, bytes);
	if (!is_sane(bytes))
		return NULL;
	let_go(b - 1);
	moved = realloc(b - 1, sizeof(*b) + bytes);
	if (moved == NULL)
		(void)keep(owner(lcms), b - 1);
	return keep(owner(lcms), moved);
}

static void *make_lock(cmsContext lcms)
{
	static char none;

	(void)lcms;
	return &none; /* not NULL, which is a failure */
}

static void ignore_lock(cmsContext lcms, void *lock)
{
	(void)lcms;
	(void)lock;
}

static cmsBool take_lock(cmsContext lcms, void *lock)
{
	ignore_lock(lcms, lock);
	return TRUE;
}

bool icc_context_init(struct icc_context *c)
{
	cmsPluginMutex locks = {
		.base = { cmsPluginMagicNumber, VERSION, cmsPluginMutexSig,
			  NULL },
		.CreateMutexPtr = make_lock,
		.DestroyMutexPtr = ignore_lock,
		.LockMutexPtr = take_lock,
		.UnlockMutexPtr = ignore_lock,
	};
	cmsPluginMemHandler memory = {
		.base = { cmsPluginMagicNumber, VERSION, cmsPluginMemHandlerSig,
			  &locks.base },
		.MallocPtr = take,
		.FreePtr = give_back,
		.ReallocPtr = resize,
	};

	c->jumps = false;
	LIST_INIT(&c->blocks);
	c->lcms = cmsCreateContext(&memory, c);
	return c->lcms != NULL;
}

void icc_context_release(struct icc_context *c)
{
	struct icc_block *b;

	cmsDeleteContext(c->lcms);
	c->lcms = NULL;
	/* What lcms2 would have freed, had it not been left. */
	while ((b = LIST_FIRST(&c->blocks)) != NULL) {
		LIST_REMOVE(b, entry);
		free(b);
	}
}

/* SPDX-License-Identifier: MIT */
#include "imgops/formats/stack.h"

#include <stdint.h>
#include <ucontext.h>

struct call {
	void (*fn)(void *arg);
	void *arg;
	ucontext_t caller, callee;
};

/* makecontext() passes on only ints: the address of a struct call in two. */
static void enter(unsigned high, unsigned low)
{
	uintptr_t address = (uintptr_t)((uint64_t)high << 32 | low);
	struct call *c = (struct call *)address;

	c->fn(c->arg);
}

void stack_call(void (*fn)(void *arg), void *arg, void *block, size_t bytes)
{
	struct call c = { .fn = fn, .arg = arg };
	uint64_t address = (uintptr_t)&c;

	(void)getcontext(&c.callee); /* cannot fail on Linux */
	c.callee.uc_stack.ss_sp = block;
	c.callee.uc_stack.ss_size = bytes;
	c.callee.uc_link = &c.caller;
	makecontext(&c.callee, (void (*)(void))enter, 2,
		    (unsigned)(address >> 32), (unsigned)address);
	(void)swapcontext(&c.caller, &c.callee);
}

/* SPDX-License-Identifier: MIT */
#include "imgops/formats/avif/avif.h"

#include <ucontext.h>

/* --- A stack --- */

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

void avif_call(void (*fn)(void *arg), void *arg, uint8_t *stack)
{
	struct call c = { .fn = fn, .arg = arg };
	uint64_t address = (uintptr_t)&c;

	(void)getcontext(&c.callee); /* cannot fail on Linux */
	c.callee.uc_stack.ss_sp = stack;
	c.callee.uc_stack.ss_size = AVIF_STACK_BYTES;
	c.callee.uc_link = &c.caller;
	makecontext(&c.callee, (void (*)(void))enter, 2,
		    (unsigned)(address >> 32), (unsigned)address);
	(void)swapcontext(&c.caller, &c.callee);
}

/* --- The format --- */

/* Only the samples of RGB can be kept as they are: see encode.c. */
static enum format_planes avif_planes(const struct img_transform *transform)
{
	return transform->lossless ? FORMAT_RGB : FORMAT_YCBCR;
}

static const struct img_codec codec = {
	.magic_bytes = AVIF_MAGIC_BYTES,
	.recognise = avif_recognise,
	.probe_more = avif_probe_more,
	.decode = avif_decode,
	.decode_estimate = &avif_decode_estimate,
	.encode = avif_encode,
	.encode_estimate = &avif_encode_estimate,
	.planes = avif_planes,
	.holds_alpha = true,
	.holds_profile = true,
};

const struct img_format avif_format = {
	.name = "AVIF",
	.word = "avif",
	.media_type = "image/avif",
	.suffix = "avif",
	.is_fragile = true,
	.codec = &codec,
};

/* SPDX-License-Identifier: MIT */
#include "stages/test/fake_cores.h"

#include "stages/stage.h"

uint32_t fake_core_count = 1;

/* The linker puts these in place of cores.c's: see CMakeLists.txt. */
uint32_t __wrap_cores_count(const struct cores *c);
bool __wrap_cores_bind(const struct cores *c, uint32_t first, uint32_t count);

uint32_t __wrap_cores_count(const struct cores *c)
{
	(void)c;
	return fake_core_count;
}

bool __wrap_cores_bind(const struct cores *c, uint32_t first, uint32_t count)
{
	(void)c;
	(void)first;
	(void)count;
	return false; /* as if the system refused */
}

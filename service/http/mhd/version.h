/* SPDX-License-Identifier: MIT */
/*
 * Version: of libmicrohttpd.  The way in which it reads its input is not a part
 * of its interface (interpose.h), so only versions that were tried are used.
 * CMakeLists.txt checks the version that is compiled with, and this file the
 * one that is loaded, which may be another.
 *
 * Threads    Any.
 */
#ifndef SERVICE_MHD_VERSION_H
#define SERVICE_MHD_VERSION_H

#include "base/error.h"

#include <stdbool.h>

/* From 0.9.75 on, before 1.1. */
bool mhd_version_is_known(const char *version);

/* Is the loaded one known? */
MUST_CHECK bool mhd_version_check(struct error *why);

#endif

/* SPDX-License-Identifier: MIT */
#include "service/http/http_counts.h"

const char *const role_names[ROLES] = {
	[ROLE_NONE] = "none",     [ROLE_UPLOAD] = "upload",
	[ROLE_IMAGE] = "image",   [ROLE_REMOVAL] = "removal",
	[ROLE_PROBE] = "probe",   [ROLE_PAGE] = "page",
	[ROLE_REPORT] = "report",
};

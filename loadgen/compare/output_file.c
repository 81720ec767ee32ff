/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool output_file_open(struct output_file *f, const char *folder,
		      const char *name, struct error *error)
{
	*f = (struct output_file){ 0 };
	if (asprintf(&f->path, "%s/%s", folder, name) < 0)
		f->path = NULL;
	else if (asprintf(&f->draft, "%s.draft", f->path) < 0)
		f->draft = NULL;
	else
		f->out = fopen(f->draft, "we");
	if (f->out != NULL)
		return true;
	error_set(error, "%s/%s: %s", folder, name, strerror(errno));
	output_file_drop(f);
	return false;
}

bool output_file_finish(struct output_file *f, struct error *error)
{
	bool written = !ferror(f->out);

	written = fclose(f->out) == 0 && written;
	f->out = NULL;
	written = written && rename(f->draft, f->path) == 0;
	if (!written)
		error_set(error, "%s: %s", f->path, strerror(errno));
	output_file_drop(f);
	return written;
}

void output_file_drop(struct output_file *f)
{
	if (f->out != NULL)
		fclose(f->out);
	if (f->draft != NULL)
		unlink(f->draft);
	free(f->draft);
	free(f->path);
	*f = (struct output_file){ 0 };
}

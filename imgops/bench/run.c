/* SPDX-License-Identifier: MIT */
#include "imgops/bench/run.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *join_path(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

bool file_read(struct file *file, const char *dir, const char *name,
	       struct error *error)
{
	char *path = join_path(dir, name);
	const char *why = strerror(ENOMEM);

	*file = (struct file){ .path = strdup(name) };
	if (path != NULL && file->path != NULL)
		file->bytes = (uint8_t *)file_read_bytes(
			path, SIZE_MAX - 2, &file->size_bytes, &why);
	free(path);
	if (file->bytes != NULL) {
		/* It was read into room that grows by doubling. */
		void *exact = realloc(file->bytes, file->size_bytes + 1);

		if (exact != NULL)
			file->bytes = exact;
		return true;
	}
	error_set(error, "%s/%s: %s", dir, name, why);
	file_release(file);
	return false;
}

/* Make the folders of `path`, as `mkdir -p` does.  Errors come out at open. */
static void make_folders(char *path)
{
	for (size_t i = 1; path[i] != '\0'; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		(void)mkdir(path, 0777);
		path[i] = '/';
	}
}

bool file_write(const char *dir, const char *name, const uint8_t *bytes,
		size_t size_bytes, struct error *error)
{
	char *path = join_path(dir, name);
	FILE *out = NULL;
	bool written;

	if (path != NULL) {
		make_folders(path);
		out = fopen(path, "we");
	}
	free(path);
	written =
		out != NULL && fwrite(bytes, 1, size_bytes, out) == size_bytes;
	if (out != NULL && fclose(out) != 0)
		written = false;
	if (!written)
		error_set(error, "%s/%s: %s", dir, name, strerror(errno));
	return written;
}

void file_release(struct file *file)
{
	free(file->path);
	free(file->bytes);
	*file = (struct file){ 0 };
}

static bool load_files(struct folder *f, const struct folder_list *list,
		       const char *dir, uint64_t max_bytes, struct error *error)
{
	f->files = calloc(list->count + 1, sizeof(*f->files));
	if (f->files == NULL) {
		error_set(error, "%s: %s", dir, strerror(errno));
		return false;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct folder_file *from = &list->files[i];

		if (from->bytes >= max_bytes)
			continue;
		if (!file_read(&f->files[f->count], dir, from->name, error))
			return false;
		f->count++;
	}
	if (f->count == 0)
		error_set(error, "%s: no such JPEG in this folder", dir);
	return f->count > 0;
}

bool folder_load(struct folder *f, const char *dir, uint64_t max_bytes,
		 struct error *error)
{
	struct folder_list list = { 0 };
	bool loaded;

	assert(f->files == NULL && f->count == 0);
	if (!folder_list_read(&list, dir, FOLDER_JPEGS, NULL, error))
		return false;
	loaded = load_files(f, &list, dir, max_bytes, error);
	folder_list_release(&list);
	if (!loaded)
		folder_release(f);
	return loaded;
}

void folder_release(struct folder *f)
{
	for (size_t i = 0; i < f->count; i++)
		file_release(&f->files[i]);
	free(f->files);
	*f = (struct folder){ 0 };
}

const char *const step_names[STEP_COUNT] = {
	[STEP_PROBE] = "probe",   [STEP_DECODE] = "decode",
	[STEP_SCALE] = "scale",   [STEP_BLUR] = "blur",
	[STEP_ENCODE] = "encode",
};

const struct img_limits run_limits = {
	.side_px_max = 65500,
	.pixels_max = 250000000,
	.scans_max = 100,
	.decode_bytes_max = UINT64_C(1) << 30,
};

double run_cpu_s(void)
{
	return (double)clock_thread_cpu_ns() / NS_PER_S;
}

static uint32_t bounded_side(double px)
{
	return px < 1 ? 1 : px > 65500 ? 65500 : (uint32_t)px;
}

struct img_view run_decode_view(const struct img_view *view,
				const struct run_job *job)
{
	double wide = view->size.width_px * job->margin;
	double high = view->size.height_px * job->margin;
	struct img_view larger = *view;

	/* All but whole: a margin of 1 changes nothing. */
	larger.size.width_px = bounded_side(wide + 1 - 1e-6);
	larger.size.height_px = bounded_side(high + 1 - 1e-6);
	return larger;
}

/* The DCT scale of a picture that img_decode() made. */
static uint32_t dct_scale_of(const struct image *decoded,
			     const struct img_header *header)
{
	return (uint32_t)lround(8 * decoded->planes[0].span_x /
				header->stored.width_px);
}

/* End step `b->step`, which began at *since.  False: it refused the file. */
static bool end_step(struct run *b, double *since, enum img_err err)
{
	double now = run_cpu_s();

	b->cpu_s[b->step] = now - *since;
	*since = now;
	b->err = err;
	if (err != IMG_OK)
		return false;
	if (b->step < STEP_ENCODE)
		b->step++;
	return true;
}

/* What a server does before it queues an upload. */
static enum img_err run_probe(struct run *b, struct img_view *view,
			      const struct file *file,
			      const struct img_transform *transform)
{
	enum img_err err = img_probe(&b->header, file->bytes, file->size_bytes,
				     &run_limits);

	if (err != IMG_OK)
		return err;
	*view = img_fit(&b->header, transform);
	b->cost = img_cost(&b->header, view, transform);
	return IMG_OK;
}

/* `pictures`: decoded, scaled, blurred.  False: refused. */
static bool run_steps(struct run *b, struct image pictures[3],
		      const struct file *file, const struct run_job *job)
{
	struct image *decoded = &pictures[0], *scaled = &pictures[1];
	struct image *last = scaled;
	const struct img_transform *transform = job->transform;
	double since = run_cpu_s();
	struct img_view view, larger;

	if (!end_step(b, &since, run_probe(b, &view, file, transform)))
		return false;
	larger = run_decode_view(&view, job);
	b->size = view.size;
	if (!end_step(b, &since,
		      img_decode(decoded, file->bytes, file->size_bytes,
				 &b->header, &larger, transform, &run_limits,
				 job->memory)))
		return false;
	b->dct_scale = dct_scale_of(decoded, &b->header);
	if (!end_step(
		    b, &since,
		    img_scale(scaled, decoded, &view, transform, job->memory)))
		return false;
	img_release(decoded); /* as early as a server would */
	if (transform->blur_sigma_px > 0) {
		last = &pictures[2];
		if (!end_step(b, &since,
			      img_blur(last, scaled, transform->blur_sigma_px,
				       job->memory)))
			return false;
		img_release(scaled);
	}
	b->step = STEP_ENCODE;
	return end_step(b, &since,
			img_encode(&b->jpeg, &b->jpeg_bytes, last, transform,
				   job->memory));
}

struct run run_file(const struct file *file, const struct run_job *job)
{
	struct image pictures[3] = { 0 };
	struct run b = { 0 };

	(void)run_steps(&b, pictures, file, job); /* b.err says it too */
	for (int i = 0; i < 3; i++)
		img_release(&pictures[i]);
	return b;
}

void run_release(struct run *b, const struct run_job *job)
{
	if (b->jpeg != NULL)
		job->memory->free(job->memory->arg, b->jpeg);
	b->jpeg = NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * usage: check_hostile [--write | --add | --seeds] FORMAT DIR
 *   FORMAT    png, webp, gif, avif, heic, jxl or ppm
 *   DIR       this folder: FORMAT.txt is the manifest, seeds/ has files whose
 *             bytes depend on the version of the library that made them
 *   --write   write the manifest anew
 *   --add     the same, but answers that it already has stay allowed: for
 *             another version of a library
 *   --seeds   write the seeds anew
 *
 * A line of the manifest is a file's name and the answers that are right:
 *
 *	rgba/cut-in-IDAT	truncated
 *	lossy/size-of-VP8-less	corrupt | ok 41x24 other
 *
 * "ok" has the size of the picture as it is shown; "other" says that it is not
 * what the intact file of the same seed shows, and "as FORMAT" that the file is
 * taken for one of another format.
 *
 * Promises for every file, besides: it is answered the same with and without
 * pauses, and in a small box; the header says the same if it arrives in two
 * parts; what strict decoding accepts, lenient decoding makes, too, and what it
 * refuses is an error or marked as damaged; memory stays within the estimate,
 * what libraries allocate is charged, and all of it is freed.  Decoding ends:
 * it takes at most 2 seconds more than 100 times what was estimated.
 */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"
#ifdef IMG_HEIC
#include "imgops/formats/heic/heic.h"
#endif
#include "imgops/test/hostile/charge.h"
#include "imgops/test/hostile/seeds.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	LINES_MAX = 2000,
	NAME_CHARS = 96,
	ANSWER_CHARS = 160,
	SLOWEST = 5,
	BOX_PX = 16,
	/* What a library may allocate before it knows the picture. */
	ONCE_BYTES = 64 << 10,
};

/* So much, a file of a few bytes may ask for. */
static const struct img_limits limits = {
	.side_px_max = 65500,
	.pixels_max = 1 << 20,
	.scans_max = 64,
	.decode_bytes_max = 64 << 20,
};

struct line {
	char name[NAME_CHARS];
	char allowed[ANSWER_CHARS];
	bool is_seen;
};

struct slow {
	char name[NAME_CHARS];
	double ms, times; /* of CPU time, and of the estimate */
};

struct hostile {
	const char *word, *dir;
	struct line lines[LINES_MAX];
	uint32_t line_count, file_count, wrong_count;
	bool writes, adds;
	struct image intact; /* what the intact file of the seed shows */
	struct heap heap;    /* has that picture */
	struct slow slowest[SLOWEST];
	int64_t uncharged_bytes;
};

/* --- One file --- */

/* What becomes of a file. */
struct outcome {
	enum img_err err;
	const struct img_format *format;
	struct image shown; /* scaled, as users see it */
	struct charge charge;
	uint64_t estimated_ns, estimated_bytes; /* 0: none */
	/* Of the estimate, what a library allocates by itself. */
	uint64_t library_bytes;
	double ms;
};

static double cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void count_pause(void *charge)
{
	((struct charge *)charge)->pause_count++;
}

static uint64_t library_bytes(const struct img_header *header)
{
#ifdef IMG_HEIC
	if (header->format == img_formats[IMG_FORMAT_HEIC])
		return heic_library_bytes(header);
#endif
	(void)header;
	return 0;
}

static enum img_err decode(struct outcome *o, struct bytes file,
			   const struct img_transform *t)
{
	const struct memory *memory = &o->charge.memory;
	struct image decoded = { 0 };
	struct img_header header = { 0 };
	struct img_view view;
	struct img_cost cost;
	enum img_err err = img_probe(&header, file.data, file.count, &limits);

	o->format = header.format;
	if (err != IMG_OK)
		return err;
	view = img_fit(&header, t);
	cost = img_cost(&header, &view, t);
	o->estimated_ns = cost.decode_ns + cost.scale_ns;
	o->estimated_bytes = cost.bytes;
	o->library_bytes = library_bytes(&header);
	err = decode_any_here(&decoded, file.data, file.count, &header, &view,
			      t, &limits, memory);
	if (err != IMG_OK)
		CHECK(is_empty(&decoded));
	else
		err = img_scale(&o->shown, &decoded, &view, t, memory);
	img_release(&decoded);
	return err;
}

static void run(struct outcome *o, struct bytes file,
		const struct img_transform *t, bool pauses)
{
	double before = cpu_ms();

	*o = (struct outcome){ 0 };
	charge_begin(&o->charge, pauses ? count_pause : NULL);
	o->err = decode(o, file, t);
	charge_end(&o->charge);
	o->ms = cpu_ms() - before;
}

static void end(struct outcome *o)
{
	img_release(&o->shown);
	CHECK_NUMBER(o->charge.live_bytes, ==, 0);
}

static const char *word_of(enum img_err err)
{
	static const char *const words[] = {
		[IMG_OK] = "ok",
		[IMG_ERR_UNKNOWN_FORMAT] = "unknown",
		[IMG_ERR_UNSUPPORTED] = "unsupported",
		[IMG_ERR_CORRUPT] = "corrupt",
		[IMG_ERR_TRUNCATED] = "truncated",
		[IMG_ERR_TOO_LARGE] = "too-large",
		[IMG_ERR_TOO_MANY_SCANS] = "too-many-scans",
		[IMG_ERR_NO_MEMORY] = "no-memory",
	};

	CHECK_NUMBER((size_t)err, <, ARRAY_SIZE(words));
	return words[err];
}

static void put_answer(char answer[ANSWER_CHARS], const struct hostile *h,
		       const struct outcome *o)
{
	const struct img_plane *p = &o->shown.planes[0];
	bool is_other =
		o->format == NULL || strcmp(o->format->word, h->word) != 0;

	if (o->err != IMG_OK) {
		(void)snprintf(answer, ANSWER_CHARS, "%s", word_of(o->err));
		return;
	}
	(void)snprintf(answer, ANSWER_CHARS, "ok %ux%u%s%s", p->width,
		       p->height,
		       is_other                       ? " as " :
		       is_same(&o->shown, &h->intact) ? "" :
							" other",
		       is_other ? o->format->word : "");
}

/* --- What is promised of every file --- */

static void complain(struct hostile *h, const char *name, const char *what,
		     const char *answer)
{
	printf("%s/%s: %s: %s\n", h->word, name, what, answer);
	h->wrong_count++;
}

static void check_resources(struct hostile *h, const char *name,
			    const struct outcome *o)
{
	double estimated_ms = (double)o->estimated_ns * 1e-6;
	struct slow s = { .ms = o->ms, .times = o->ms / (estimated_ms + 0.1) };
	int64_t uncharged =
		o->charge.uncharged_bytes - (int64_t)o->library_bytes;
	uint32_t i = SLOWEST;

	if (o->charge.peak_bytes > o->estimated_bytes)
		complain(h, name, "memory over the estimate", word_of(o->err));
	if (uncharged > ONCE_BYTES)
		complain(h, name, "memory that is not charged",
			 word_of(o->err));
	if (uncharged > h->uncharged_bytes)
		h->uncharged_bytes = uncharged;
	if (o->ms > 2000 + 100 * estimated_ms)
		complain(h, name, "takes too long", word_of(o->err));
	(void)snprintf(s.name, sizeof(s.name), "%s", name);
	if (s.times <= h->slowest[SLOWEST - 1].times)
		return;
	for (; i > 1 && h->slowest[i - 2].times < s.times; i--)
		h->slowest[i - 1] = h->slowest[i - 2];
	h->slowest[i - 1] = s;
}

/* The file once more, in other ways; `o` is of the usual one. */
static void check_again(struct hostile *h, const char *name, struct bytes file,
			const struct img_transform *t, const struct outcome *o)
{
	struct img_transform lenient = *t, small = *t;
	struct outcome again;

	run(&again, file, t, true);
	if (again.err != o->err ||
	    (o->err == IMG_OK && !is_same(&again.shown, &o->shown)))
		complain(h, name, "differs with pauses", word_of(again.err));
	end(&again);
	lenient.lenient = true;
	run(&again, file, &lenient, true);
	if (o->err == IMG_OK) {
		if (again.err != IMG_OK ||
		    again.shown.notes != o->shown.notes ||
		    !is_same(&again.shown, &o->shown))
			complain(h, name, "differs if lenient",
				 word_of(again.err));
	} else if (again.err == IMG_OK &&
		   (again.shown.notes & IMG_NOTE_DAMAGED) == 0) {
		complain(h, name, "damage without a note", word_of(o->err));
	}
	check_resources(h, name, &again);
	end(&again);
	small.box = (struct img_size){ BOX_PX, BOX_PX };
	run(&again, file, &small, true);
	if (again.err != o->err)
		complain(h, name, "differs in a box", word_of(again.err));
	end(&again);
}

/* A walk in two parts finds what one walk over all bytes finds. */
static void check_parts(struct hostile *h, const char *name, struct bytes file)
{
	struct img_header whole = { 0 };
	enum img_err err =
		img_probe_more(&whole, file.data, file.count, &limits);

	for (size_t i = 1; i < 4; i++) {
		struct img_header parts = { 0 };
		size_t first = file.count * i / 4;
		enum img_err of_first =
			first < IMG_BEGIN_BYTES ?
				IMG_ERR_TRUNCATED :
				img_probe_more(&parts, file.data, first,
					       &limits);
		enum img_err all;

		if (of_first != IMG_OK && of_first != IMG_ERR_TRUNCATED) {
			if (of_first != err)
				complain(h, name, "the first part alone",
					 word_of(of_first));
			continue;
		}
		all = img_probe_more(&parts, file.data, file.count, &limits);
		if (all != err ||
		    (err == IMG_OK && !headers_agree(&parts, &whole)))
			complain(h, name, "differs in parts", word_of(all));
	}
}

/* --- The manifest --- */

static struct line *find_line(struct hostile *h, const char *name)
{
	for (uint32_t i = 0; i < h->line_count; i++)
		if (strcmp(h->lines[i].name, name) == 0)
			return &h->lines[i];
	return NULL;
}

/* The file is one of a format that this build lacks. */
static bool is_left_out(const struct line *line)
{
	const char *as = strstr(line->allowed, " as ");

	if (as == NULL)
		return false;
	for (size_t i = 0; i < IMG_FORMATS; i++)
		if (strcmp(img_formats[i]->word, as + strlen(" as ")) == 0)
			return false;
	return true;
}

static bool allows(const struct line *line, const char *answer)
{
	size_t length = strlen(answer);
	const char *at = line->allowed;

	if (is_left_out(line))
		return strcmp(answer, "unknown") == 0;
	while (at != NULL) {
		if (strncmp(at, answer, length) == 0 &&
		    (at[length] == '\0' || strncmp(at + length, " | ", 3) == 0))
			return true;
		at = strstr(at, " | ");
		at = at == NULL ? NULL : at + 3;
	}
	return false;
}

static void compare(struct hostile *h, const char *name, const char *answer)
{
	struct line *line = find_line(h, name);
	size_t used;

	if (line != NULL && line->is_seen)
		complain(h, name, "a second file of this name", answer);
	if (line == NULL && (h->writes || h->adds)) {
		CHECK_NUMBER(h->line_count, <, LINES_MAX);
		line = &h->lines[h->line_count++];
		*line = (struct line){ .is_seen = true };
		(void)snprintf(line->name, NAME_CHARS, "%s", name);
		(void)snprintf(line->allowed, ANSWER_CHARS, "%s", answer);
	}
	if (line == NULL) {
		complain(h, name, "not in the manifest", answer);
		return;
	}
	line->is_seen = true;
	if (allows(line, answer))
		return;
	if (!h->adds) {
		complain(h, name, line->allowed, answer);
		return;
	}
	used = strlen(line->allowed);
	(void)snprintf(line->allowed + used, ANSWER_CHARS - used, " | %s",
		       answer);
}

static FILE *open_manifest(const struct hostile *h, const char *mode)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s.txt", h->dir, h->word);
	f = fopen(path, mode);
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	return f;
}

static void read_manifest(struct hostile *h)
{
	FILE *f = open_manifest(h, "r");
	char text[NAME_CHARS + ANSWER_CHARS + 2];

	while (fgets(text, sizeof(text), f) != NULL) {
		struct line *line = &h->lines[h->line_count];

		CHECK_NUMBER(h->line_count, <, LINES_MAX);
		h->line_count += sscanf(text, "%95[^\t]\t%159[^\n]", line->name,
					line->allowed) == 2;
	}
	(void)fclose(f);
}

static void end_manifest(struct hostile *h)
{
	FILE *f = h->writes || h->adds ? open_manifest(h, "w") : NULL;

	for (uint32_t i = 0; i < h->line_count; i++)
		if (!h->lines[i].is_seen && f == NULL)
			complain(h, h->lines[i].name, "no such file", "");
		else if (h->lines[i].is_seen && f != NULL)
			(void)fprintf(f, "%s\t%s\n", h->lines[i].name,
				      h->lines[i].allowed);
	if (f != NULL)
		(void)fclose(f);
}

/* --- All --- */

void hostile_try(struct hostile *h, const char *seed, struct bytes file,
		 const char *format, ...)
{
	static const struct img_transform t = { .quality = 80,
						.format = IMG_FORMAT_PPM };
	char what[NAME_CHARS / 2], name[NAME_CHARS], answer[ANSWER_CHARS];
	/* Of the exact size, so that sanitizers see reads past its end. */
	struct bytes exact = { malloc(file.count > 0 ? file.count : 1),
			       file.count };
	struct outcome o;
	va_list args;

	CHECK(exact.data != NULL);
	memcpy(exact.data, file.data, file.count);
	free(file.data);
	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	(void)snprintf(name, sizeof(name), "%s/%s", seed, what);
	check_case("%s/%s", h->word, name);
	run(&o, exact, &t, false);
	if (strcmp(what, "intact") == 0) {
		img_release(&h->intact);
		CHECK_NUMBER(img_copy(&h->intact, &o.shown, &h->heap.memory),
			     ==, IMG_OK);
	}
	put_answer(answer, h, &o);
	compare(h, name, answer);
	check_resources(h, name, &o);
	check_again(h, name, exact, &t, &o);
	check_parts(h, name, exact);
	end(&o);
	free(exact.data);
	h->file_count++;
}

struct bytes hostile_seed(const struct hostile *h, const char *name)
{
	char path[4096];
	struct bytes b = { malloc(SEED_BYTES_MAX), 0 };
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/seeds/%s.%s", h->dir, name,
		       h->word);
	f = fopen(path, "rb");
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	CHECK(b.data != NULL);
	b.count = fread(b.data, 1, SEED_BYTES_MAX, f);
	CHECK_NUMBER(b.count, <, SEED_BYTES_MAX);
	(void)fclose(f);
	return b;
}

static const struct {
	const char *word;
	void (*try)(struct hostile *h);
} formats[] = {
#ifdef IMG_PNG
	{ "png", hostile_png },
#endif
#ifdef IMG_WEBP
	{ "webp", hostile_webp },
#endif
#ifdef IMG_GIF
	{ "gif", hostile_gif },
#endif
#ifdef IMG_AVIF
	{ "avif", hostile_avif },
#endif
#ifdef IMG_HEIC
	{ "heic", hostile_heic },
#endif
#ifdef IMG_JXL
	{ "jxl", hostile_jxl },
#endif
	{ "ppm", hostile_ppm },
};

static int report(const struct hostile *h)
{
	printf("%s: %u files, %u wrong; a library has at most %lld bytes more "
	       "than are charged\n",
	       h->word, h->file_count, h->wrong_count,
	       (long long)h->uncharged_bytes);
	for (uint32_t i = 0; i < SLOWEST; i++)
		printf("%.1f ms of CPU, %.1f times the estimate: %s\n",
		       h->slowest[i].ms, h->slowest[i].times,
		       h->slowest[i].name);
	return h->wrong_count > 0 || h->file_count == 0;
}

static int usage(void)
{
	(void)fprintf(stderr,
		      "usage: check_hostile [--write | --add | --seeds] "
		      "FORMAT DIR\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct hostile h;
	const char *option = argc == 4 ? argv[1] : "";

	if (argc < 3 || argc > 4)
		return usage();
	h.word = argv[argc - 2];
	h.dir = argv[argc - 1];
	h.writes = strcmp(option, "--write") == 0;
	h.adds = strcmp(option, "--add") == 0;
	if (strcmp(option, "--seeds") == 0)
		return seeds_write(h.word, h.dir);
	if (argc == 4 && !h.writes && !h.adds)
		return usage();
	if (!h.writes)
		read_manifest(&h);
	/* New pages take time, which is not the decoder's: keep them. */
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
	heap_init(&h.heap);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(h.word, formats[i].word) == 0)
			formats[i].try(&h);
	end_manifest(&h);
	img_release(&h.intact);
	return report(&h);
}

/* SPDX-License-Identifier: MIT */
/*
 * Promises: a file has the same planes in another process as in this one, by
 * several threads at once; a process that crashes, hangs, is killed, has no
 * rights, takes all memory or tells lies costs its own file, and the next file
 * is decoded; a process that is stopped or sleeps is ended in time; so is the
 * forker, and a new one starts; a program that has ended, or that cannot be
 * started, is named.  JPEGs are packed and restored there, too.
 *
 * usage: test_decoder PROGRAM
 */
#include "service/decoder/decoder.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "imgops/test/support.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WIDTH = 300,
	HEIGHT = 200,
	FILE_BYTES = 1 << 20,
	LANES = 3,
	THREADS = 6,
	FILES_EACH = 16,
};

static const char *program;
static const uint64_t cpu_ns = 1000 * NS_PER_MS;
static uint32_t give_up_ms; /* for end_ns; 0: none */

static struct decoder *start(void)
{
	struct decoder_config c = {
		.formats = 1u << IMG_FORMAT_PPM,
		.lanes = LANES,
		.file_bytes = FILE_BYTES,
		.bytes_max = 64 << 20,
		.program = program,
	};
	struct error error = { "" };
	struct decoder *d = decoder_start(&c, &error);

	CHECK_TEXT(error.text, "");
	CHECK(d != NULL);
	return d;
}

/* A PPM; `word` is in its comment. */
static struct bytes make_file(const char *word)
{
	struct bytes file = { malloc(FILE_BYTES), 0 };

	CHECK(file.data != NULL);
	file.count =
		(size_t)snprintf((char *)file.data, FILE_BYTES,
				 "P6\n#%s\n%d %d\n255\n", word, WIDTH, HEIGHT);
	for (int i = 0; i < WIDTH * HEIGHT * 3; i++)
		file.data[file.count++] = (uint8_t)(i * 7 + i / 900);
	return file;
}

/* Decode by `d`, or here if that is NULL. */
static enum img_err decode(struct decoder *d, struct image *img,
			   struct bytes file, uint64_t ns,
			   const struct memory *memory)
{
	struct decoder_time time = {
		.cpu_ns_max = ns,
		.end_ns = give_up_ms > 0 ? clock_after_ms(give_up_ms) : 0,
	};
	const struct img_transform t = { .quality = 80 };
	struct img_header h;
	struct img_view view;
	enum img_err err;

	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	view = img_fit(&h, &t);
	if (d == NULL)
		return img_decode(img, file.data, file.count, &h, &view, &t,
				  &no_limits, memory);
	err = decoder_decode(d, img, file.data, file.count, &h, &view, &t,
			     &no_limits, &time, memory);
	CHECK(err == IMG_OK || time.cpu_ns == 0);
	return err;
}

static bool has_same_planes(const struct image *a, const struct image *b)
{
	if (a->plane_count != b->plane_count || a->space != b->space)
		return false;
	for (uint32_t i = 0; i < a->plane_count; i++)
		for (uint32_t y = 0; y < HEIGHT; y++)
			if (memcmp(a->planes[i].samples +
					   y * a->planes[i].stride_bytes,
				   b->planes[i].samples +
					   y * b->planes[i].stride_bytes,
				   WIDTH) != 0)
				return false;
	return true;
}

static void check_good(struct decoder *d)
{
	struct bytes file = make_file("good");
	struct image here = { 0 }, there = { 0 };
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(decode(NULL, &here, file, 0, &h.memory), ==, IMG_OK);
	CHECK_NUMBER(decode(d, &there, file, cpu_ns, &h.memory), ==, IMG_OK);
	CHECK(has_same_planes(&here, &there));
	img_release(&here);
	img_release(&there);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
}

static void check_fault(struct decoder *d, const char *word, uint64_t ns,
			enum img_err want)
{
	struct bytes file = make_file(word);
	struct image img = { 0 };
	struct heap h;

	check_case("%s", word);
	heap_init(&h);
	CHECK_NUMBER(decode(d, &img, file, ns, &h.memory), ==, want);
	CHECK_NUMBER(img.plane_count, ==, 0);
	CHECK_NUMBER(h.live_count, ==, 0);
	check_good(d);
	free(file.data);
}

static void test_faults_cost_their_own_file(void)
{
	struct decoder *d = start();
	struct decoder_stats stats;

	check_good(d);
	check_fault(d, "crash", 60 * cpu_ns, IMG_ERR_LOST);
	check_fault(d, "loop", cpu_ns / 10, IMG_ERR_LOST);
	check_fault(d, "wild", 60 * cpu_ns, IMG_ERR_LOST);
	check_fault(d, "large", 60 * cpu_ns, IMG_ERR_LOST);
	check_fault(d, "outside", 60 * cpu_ns, IMG_ERR_LOST);
	check_fault(d, "again", 60 * cpu_ns, IMG_ERR_LOST);
	decoder_read(d, &stats);
	CHECK_NUMBER(stats.lost_count, ==, 6);
	CHECK_NUMBER(stats.decoded_count, ==, 13);
	decoder_free(d);
}

static struct decoder *start_one_lane(void)
{
	struct decoder_config c = {
		.formats = 1u << IMG_FORMAT_PPM,
		.lanes = 1,
		.file_bytes = FILE_BYTES,
		.bytes_max = 64 << 20,
		.program = program,
	};
	struct error error;
	struct decoder *d = decoder_start(&c, &error);

	CHECK(d != NULL);
	return d;
}

/* A JPEG, with a comment that plants a fault. */
static struct bytes make_jpeg(const char *word)
{
	struct bytes plain = jpeg_make(&(struct jpeg_spec){
		.width = WIDTH,
		.height = HEIGHT,
		.picture = waves,
		.h = { 1, 1, 1 },
		.v = { 1, 1, 1 },
	});
	struct bytes file = { malloc(plain.count + 64), 0 };
	size_t chars = strlen(word);
	const uint8_t head[] = {
		0xff, 0xd8, 0xff, 0xfe, 0, (uint8_t)(chars + 2)
	};

	CHECK(file.data != NULL);
	memcpy(file.data, head, sizeof(head));
	memcpy(file.data + sizeof(head), word, chars);
	memcpy(file.data + sizeof(head) + chars, plain.data + 2,
	       plain.count - 2);
	file.count = sizeof(head) + chars + plain.count - 2;
	free(plain.data);
	return file;
}

static enum img_err repack(struct decoder *d, enum img_repack what,
			   struct bytes from, struct bytes *to, uint64_t ns)
{
	struct decoder_repack work = {
		.what = what,
		.bytes = from.data,
		.count = from.count,
		.to = malloc(FILE_BYTES),
		.room = FILE_BYTES,
		.is_idle = what == IMG_PACK,
		.cpu_ns = ns,
	};
	enum img_err err;

	CHECK(work.to != NULL);
	*to = (struct bytes){ work.to, 0 };
	err = decoder_repack(d, &work, &to->count);
	if (err != IMG_OK)
		CHECK_NUMBER(to->count, ==, 0);
	return err;
}

static void check_repack_fault(struct decoder *d, const char *word, uint64_t ns)
{
	struct bytes jpeg = make_jpeg(word), packed;

	check_case("%s", word);
	CHECK_NUMBER(repack(d, IMG_PACK, jpeg, &packed, ns), ==, IMG_ERR_LOST);
	free(packed.data);
	free(jpeg.data);
	check_good(d);
}

static void test_jpegs_are_packed_and_restored(void)
{
	struct decoder *d = start();
	struct bytes jpeg = make_jpeg("good"), packed, restored, none;

	CHECK_NUMBER(repack(d, IMG_PACK, jpeg, &packed, 60 * cpu_ns), ==,
		     IMG_OK);
	CHECK_NUMBER(packed.count, <, jpeg.count);
	CHECK_NUMBER(repack(d, IMG_RESTORE, packed, &restored, 60 * cpu_ns), ==,
		     IMG_OK);
	CHECK_NUMBER(restored.count, ==, jpeg.count);
	CHECK(memcmp(restored.data, jpeg.data, jpeg.count) == 0);
	CHECK_NUMBER(repack(d, IMG_RESTORE, jpeg, &none, 60 * cpu_ns), !=,
		     IMG_OK);
	free(none.data);
	check_repack_fault(d, "#crash", 60 * cpu_ns);
	check_repack_fault(d, "#loop", cpu_ns / 10);
	check_repack_fault(d, "#lie", 60 * cpu_ns);
	free(jpeg.data);
	free(packed.data);
	free(restored.data);
	decoder_free(d);
}

static void test_flood(void)
{
	struct decoder *d = start_one_lane();

	check_fault(d, "flood", cpu_ns / 10, IMG_ERR_LOST);
	decoder_free(d);
}

/*
 * That a process has ended is told also if its socket was full.  The limits are
 * so high that the test would not end by them.
 */
static void test_full_socket(void)
{
	struct decoder *d = start_one_lane();

	for (int i = 0; i < 20; i++)
		check_fault(d, "fill", 10000 * cpu_ns, IMG_ERR_LOST);
	decoder_free(d);
}

/* Processes that use no CPU. */
static void test_sleep(void)
{
	struct decoder *d = start();

	give_up_ms = 300;
	for (int i = 0; i < 3; i++) {
		struct bytes file = make_file("sleep");
		struct image img = { 0 };
		struct heap h;

		heap_init(&h);
		CHECK_NUMBER(decode(d, &img, file, 10000 * cpu_ns, &h.memory),
			     ==, IMG_ERR_LOST);
		free(file.data);
	}
	give_up_ms = 0;
	check_good(d);
	decoder_free(d);
}

/*
 * A file that is ended at once, perhaps before its process has begun: nobody
 * decodes it later, in front of the next one.
 */
static void test_end_at_once(void)
{
	struct decoder *d = start_one_lane();

	for (int i = 0; i < 200; i++) {
		struct bytes file = make_file("sleep");
		struct image img = { 0 };
		struct heap h;

		heap_init(&h);
		give_up_ms = i % 3 + 1;
		CHECK_NUMBER(decode(d, &img, file, 10000 * cpu_ns, &h.memory),
			     ==, IMG_ERR_LOST);
		free(file.data);
		give_up_ms = 10000;
		check_good(d);
	}
	give_up_ms = 0;
	decoder_free(d);
}

struct paused {
	struct heap heap;
	struct decoder *d;
	uint32_t count;
};

/* What a worker does during a pause. */
static void decode_another(void *arg)
{
	struct paused *p = arg;

	if (p->count++ == 0)
		check_good(p->d);
}

/* A paused file has no lane that others would wait for. */
static void test_pause(void)
{
	struct paused p = { .d = start_one_lane() };
	struct bytes file = make_file("good");
	struct memory memory;
	struct image img = { 0 };

	heap_init(&p.heap);
	memory = p.heap.memory;
	CHECK(memory.arg == &p);
	memory.pause = decode_another;
	CHECK_NUMBER(decode(p.d, &img, file, cpu_ns, &memory), ==, IMG_OK);
	CHECK_NUMBER(p.count, >, 0);
	CHECK(img.memory == &memory);
	img_release(&img);
	CHECK_NUMBER(p.heap.live_count, ==, 0);
	free(file.data);
	decoder_free(p.d);
}

/* A supervisor may have left it so: exec() keeps it. */
static void test_ignored_signals(void)
{
	struct decoder *d;

	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGPROF, SIG_IGN);
	d = start();
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGPROF, SIG_DFL);
	check_fault(d, "crash", 60 * cpu_ns, IMG_ERR_LOST);
	check_fault(d, "loop", cpu_ns / 10, IMG_ERR_LOST);
	decoder_free(d);
}

/* Builds with sanitizers have no jail. */
static void test_jail(void)
{
	struct decoder *d = start();
	struct bytes file = make_file("open");
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(decode(d, &img, file, cpu_ns, &h.memory), ==, IMG_OK);
	img_release(&img);
	free(file.data);
	file = make_file("shared");
	CHECK_NUMBER(decode(d, &img, file, cpu_ns, &h.memory), ==, IMG_OK);
	img_release(&img);
	free(file.data);
	check_fault(d, "memory", 60 * cpu_ns, IMG_ERR_NO_MEMORY);
	decoder_free(d);
}

/* The processes whose parent is `parent`, at most `most`. */
static uint32_t children_of(pid_t parent, pid_t *out, uint32_t most)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;
	uint32_t count = 0;

	CHECK(all != NULL);
	while ((entry = readdir(all)) != NULL && count < most) {
		char path[300], text[512] = "";
		FILE *f;
		int of = 0;

		(void)snprintf(path, sizeof(path), "/proc/%s/stat",
			       entry->d_name);
		if (strspn(entry->d_name, "0123456789") !=
			    strlen(entry->d_name) ||
		    (f = fopen(path, "r")) == NULL)
			continue;
		if (fread(text, 1, sizeof(text) - 1, f) > 0 &&
		    strrchr(text, ')') != NULL &&
		    sscanf(strrchr(text, ')') + 1, " %*c %d", &of) == 1 &&
		    of == parent)
			out[count++] = atoi(entry->d_name);
		(void)fclose(f);
	}
	(void)closedir(all);
	return count;
}

/* The child of darkroom-decoder; 0: there is none at the moment. */
static pid_t forker_of(pid_t keeper)
{
	pid_t children[2 * LANES];
	uint32_t count = children_of(keeper, children, ARRAY_SIZE(children));

	for (uint32_t i = 0; i < count; i++) {
		char path[64], name[32] = "";
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%d/comm",
			       children[i]);
		f = fopen(path, "r");
		if (f == NULL)
			continue;
		(void)fgets(name, sizeof(name), f);
		(void)fclose(f);
		if (strcmp(name, "decoder-forker\n") == 0)
			return children[i];
	}
	return 0;
}

/* An idle process that is killed costs nothing. */
static void test_killed_while_idle(void)
{
	struct decoder *d = start();
	pid_t parent, lane;

	CHECK_NUMBER(children_of(getpid(), &parent, 1), ==, 1);
	for (int i = 0; i < 20; i++) {
		struct decoder_stats stats;

		check_good(d);
		CHECK_NUMBER(children_of(forker_of(parent), &lane, 1), ==, 1);
		CHECK_NUMBER(kill(lane, SIGKILL), ==, 0);
		check_good(d);
		decoder_read(d, &stats);
		CHECK_NUMBER(stats.lost_count, ==, 0);
	}
	decoder_free(d);
}

/*
 * A new forker does its work.  So it does if it, or an idle process, is only
 * stopped.
 */
static void test_forker(void)
{
	static const int signals[] = { SIGKILL, SIGSTOP };
	struct decoder *d = start();
	struct decoder_stats stats;
	pid_t keeper, forker, lane;

	CHECK_NUMBER(children_of(getpid(), &keeper, 1), ==, 1);
	for (int i = 0; i < 20; i++) {
		check_good(d);
		forker = forker_of(keeper);
		CHECK_NUMBER(forker, >, 0);
		CHECK_NUMBER(kill(forker, signals[i % 2]), ==, 0);
		for (int n = 0; n < 6000 && (forker_of(keeper) == 0 ||
					     forker_of(keeper) == forker);
		     n++)
			(void)usleep(10000);
	}
	check_good(d);
	forker = forker_of(keeper);
	CHECK_NUMBER(children_of(forker, &lane, 1), ==, 1);
	CHECK_NUMBER(kill(lane, SIGSTOP), ==, 0);
	check_good(d);
	decoder_read(d, &stats);
	CHECK_NUMBER(stats.lost_count, ==, 0);
	CHECK(decoder_is_up(d));
	decoder_free(d);
}

/* What a process has sent is forgotten when it has ended. */
static void test_answers_ahead(void)
{
	struct decoder *d = start_one_lane();
	struct bytes file = make_file("ahead");
	struct image img = { 0 };
	pid_t keeper, forker, lane;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(children_of(getpid(), &keeper, 1), ==, 1);
	CHECK_NUMBER(decode(d, &img, file, cpu_ns, &h.memory), ==,
		     IMG_ERR_TOO_LARGE);
	forker = forker_of(keeper);
	while (children_of(forker, &lane, 1) != 0)
		(void)usleep(1000);
	check_good(d);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
	decoder_free(d);
}

static void count_call(void *arg, const char *name)
{
	CHECK_TEXT(name, DECODER_USUAL);
	++*(uint32_t *)arg;
}

static void test_down(void)
{
	uint32_t call_count = 0;
	struct decoder_config c = {
		.formats = 1u << IMG_FORMAT_PPM,
		.lanes = LANES,
		.file_bytes = FILE_BYTES,
		.bytes_max = 64 << 20,
		.program = program,
		.on_down = count_call,
		.arg = &call_count,
	};
	struct error error;
	struct decoder *d = decoder_start(&c, &error);
	struct bytes file = make_file("good");
	struct image img = { 0 };
	struct decoder_stats stats;
	struct heap h;
	pid_t keeper;

	CHECK(d != NULL);
	check_good(d);
	CHECK_NUMBER(children_of(getpid(), &keeper, 1), ==, 1);
	CHECK_NUMBER(kill(keeper, SIGKILL), ==, 0);
	for (int i = 0; i < 6000 && decoder_is_up(d); i++)
		(void)usleep(10000);
	heap_init(&h);
	for (int i = 0; i < 3; i++)
		CHECK_NUMBER(decode(d, &img, file, cpu_ns, &h.memory), ==,
			     IMG_ERR_NO_DECODER);
	CHECK_NUMBER(call_count, ==, 1);
	decoder_read(d, &stats);
	CHECK_NUMBER(stats.down_count, ==, 3);
	CHECK_NUMBER(stats.lost_count, ==, 0);
	free(file.data);
	decoder_free(d);
}

struct job {
	struct decoder *d;
	uint32_t seed;
	_Atomic uint32_t *lost_count;
};

static void *decode_many(void *arg)
{
	struct job *job = arg;

	for (uint32_t i = 0; i < FILES_EACH; i++) {
		bool is_bad = (i + job->seed) % 8 == 0;
		struct bytes file = make_file(is_bad ? "crash" : "good");
		struct image here = { 0 }, there = { 0 };
		enum img_err err;
		struct heap h;

		heap_init(&h);
		err = decode(job->d, &there, file, cpu_ns, &h.memory);
		CHECK_NUMBER(err, ==, (is_bad ? IMG_ERR_LOST : IMG_OK));
		if (is_bad) {
			atomic_fetch_add(job->lost_count, 1);
		} else {
			CHECK_NUMBER(decode(NULL, &here, file, 0, &h.memory),
				     ==, IMG_OK);
			CHECK(has_same_planes(&here, &there));
		}
		img_release(&here);
		img_release(&there);
		free(file.data);
	}
	return NULL;
}

static void test_threads(void)
{
	struct decoder *d = start();
	_Atomic uint32_t lost_count = 0;
	struct decoder_stats stats;
	pthread_t threads[THREADS];
	struct job jobs[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ d, i, &lost_count };
		CHECK_NUMBER(pthread_create(&threads[i], NULL, decode_many,
					    &jobs[i]),
			     ==, 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	decoder_read(d, &stats);
	CHECK_NUMBER(stats.lost_count, ==, lost_count);
	CHECK_NUMBER(stats.decoded_count, ==, THREADS * FILES_EACH);
	decoder_free(d);
}

static void test_wrong_program(void)
{
	static const char *const wrong[] = { "/none/such", "/bin/true" };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct decoder_config c = { .formats = 1,
					    .lanes = 1,
					    .file_bytes = 1,
					    .bytes_max = 1,
					    .program = wrong[i] };
		struct error error;

		CHECK(decoder_start(&c, &error) == NULL);
		CHECK(strstr(error.text, wrong[i]) != NULL);
	}
}

static void test_formats(void)
{
	struct decoder *d = start();

	CHECK(decoder_takes(d, img_formats[IMG_FORMAT_PPM]));
	CHECK(!decoder_takes(d, img_formats[IMG_FORMAT_JPEG]));
	CHECK(!decoder_takes(d, NULL));
	CHECK(!decoder_takes(NULL, img_formats[IMG_FORMAT_PPM]));
	decoder_free(d);
}

int main(int argc, char **argv)
{
	CHECK_NUMBER(argc, ==, 2);
	program = argv[1];
	test_formats();
	test_faults_cost_their_own_file();
	if (!HAS_SANITIZERS)
		test_jail();
	test_flood();
	if (img_can_repack())
		test_jpegs_are_packed_and_restored();
	test_answers_ahead();
	test_full_socket();
	test_sleep();
	test_end_at_once();
	test_forker();
	test_down();
	test_pause();
	test_ignored_signals();
	test_killed_while_idle();
	test_threads();
	test_wrong_program();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Promises: every line that is logged is either written once and whole, or
 * counted as missing; a thread that logs never waits, whatever state the
 * descriptor is in; and no string can break a line.
 */
#include "service/log/log.h"

#include "base/test/check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cjson/cJSON.h>

enum {
	PATIENCE_MS = 60000,
	FEW = 100,
	MANY = 5000, /* more than buffers and a pipe hold */
	THREADS = 4,
	FILE_BYTES = 1000,
};

static struct log *start(int fd, enum log_mode mode)
{
	struct log *l = log_start(&(struct log_config){
		.fd = fd, .mode = mode, .slow_ms = 1000, .policy = "p" });

	CHECK(l != NULL);
	return l;
}

static void log_one(struct log *l, uint32_t number)
{
	char id[16];
	struct log_request r = {
		.id = id,
		.method = "POST",
		.path = "/",
		.end = "sent",
		.status = 200,
		.times = { { "queue", 1500000 }, { "decode", 12345678 } },
		.time_count = 2,
		.total_ns = 999999999,
	};

	(void)snprintf(id, sizeof(id), "%" PRIu32, number);
	log_request(l, &r);
}

/* The result of a reader. */
struct found {
	int fd;
	uint64_t line_count, dropped_count;
	uint32_t seen[MANY];
};

static void look_at(struct found *f, const char *line)
{
	cJSON *o = cJSON_Parse(line);
	const char *event;

	CHECK(o != NULL);
	event = cJSON_GetStringValue(cJSON_GetObjectItem(o, "event"));
	if (strcmp(event, "dropped") == 0) {
		f->dropped_count += (uint64_t)cJSON_GetNumberValue(
			cJSON_GetObjectItem(o, "lines"));
	} else {
		uint32_t id = (uint32_t)atoi(
			cJSON_GetStringValue(cJSON_GetObjectItem(o, "id")));

		CHECK_NUMBER(id, <, MANY);
		CHECK_NUMBER(f->seen[id]++, ==, 0);
		f->line_count++;
	}
	cJSON_Delete(o);
}

/*
 * Reads until all ends for writing are closed.  Each write() must hold whole
 * lines.
 */
static void *read_lines(void *arg)
{
	struct found *f = arg;
	char packet[PIPE_BUF + 1], *rest, *line;
	ssize_t n;

	while ((n = read(f->fd, packet, PIPE_BUF)) > 0) {
		CHECK_NUMBER(packet[n - 1], ==, '\n');
		packet[n] = '\0';
		for (line = strtok_r(packet, "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest))
			look_at(f, line);
	}
	(void)close(f->fd);
	return NULL;
}

/* A packet pipe: each read() returns the bytes of one write(). */
static void make_pipe(int ends[2])
{
	int err = pipe2(ends, O_DIRECT | O_CLOEXEC);

	CHECK_NUMBER(err, ==, 0);
}

struct sender {
	struct log *log;
	uint32_t first;
};

static void *send_some(void *arg)
{
	struct sender *s = arg;

	for (uint32_t i = 0; i < FEW; i++)
		log_one(s->log, s->first + i);
	return NULL;
}

static void test_lines_of_all_threads_are_written_once(void)
{
	static struct found found;
	struct sender senders[THREADS];
	pthread_t threads[THREADS];
	int ends[2];

	make_pipe(ends);
	struct log *l = start(ends[1], LOG_AUTO); /* no terminal */
	pthread_t reader;

	found.fd = ends[0];
	(void)pthread_create(&reader, NULL, read_lines, &found);
	for (uint32_t i = 0; i < THREADS; i++) {
		senders[i] = (struct sender){ l, i * FEW };
		(void)pthread_create(&threads[i], NULL, send_some, &senders[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	log_stop(l, PATIENCE_MS);
	(void)close(ends[1]);
	(void)pthread_join(reader, NULL);
	CHECK_NUMBER(found.line_count, ==, THREADS * FEW);
	CHECK_NUMBER(found.dropped_count, ==, 0);
}

static void test_who_logs_never_waits_and_misses_are_told(void)
{
	static struct found found;
	pthread_t reader;
	int ends[2];

	make_pipe(ends);
	struct log *l = start(ends[1], LOG_JSON);

	for (uint32_t i = 0; i < MANY; i++)
		log_one(l, i); /* while nobody reads */
	found.fd = ends[0];
	(void)pthread_create(&reader, NULL, read_lines, &found);
	log_stop(l, PATIENCE_MS);
	(void)close(ends[1]);
	(void)pthread_join(reader, NULL);
	CHECK_NUMBER(found.dropped_count, >, 0);
	CHECK_NUMBER(found.line_count, >, LOG_BUFFER_BYTES / LOG_LINE_BYTES);
	CHECK_NUMBER(found.line_count + found.dropped_count, ==, MANY);
}

static void test_the_end_is_bounded(void)
{
	int ends[2];

	make_pipe(ends);
	struct log *l = start(ends[1], LOG_JSON);

	for (uint32_t i = 0; i < MANY; i++)
		log_one(l, i);
	log_stop(l, 20); /* nobody reads, so it must give up */
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_broken_descriptors_do_no_harm(void)
{
	int ends[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct log *l;

	make_pipe(ends);
	(void)close(ends[0]);
	l = start(ends[1], LOG_TEXT);
	log_one(l, 1);
	log_stop(l, PATIENCE_MS);
	(void)close(ends[1]);
	l = start(ends[1], LOG_TEXT); /* closed */
	log_one(l, 1);
	log_stop(l, PATIENCE_MS);
	l = start(full, LOG_TEXT);
	log_one(l, 1);
	log_stop(l, PATIENCE_MS);
	(void)close(full);
}

static void set_file_bytes_max(rlim_t bytes)
{
	struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };
	int err = setrlimit(RLIMIT_FSIZE, &limit);

	CHECK_NUMBER(err, ==, 0);
}

static void wait_for_size(int fd, off_t bytes)
{
	while (lseek(fd, 0, SEEK_END) < bytes)
		(void)usleep(1000);
}

/* A disk is full for a while: only the line that was cut is broken. */
static void test_a_cut_line_does_not_cut_the_next(void)
{
	char path[] = "/tmp/test_log.XXXXXX";
	static char text[2 * FEW * LOG_LINE_BYTES];
	int fd = mkstemp(path), broken_count = 0;
	struct log *l = start(fd, LOG_JSON);
	static struct found found;
	char *rest, *line;
	ssize_t n;

	(void)unlink(path);
	set_file_bytes_max(FILE_BYTES);
	for (uint32_t i = 0; i < FEW; i++)
		log_one(l, i);
	wait_for_size(fd, FILE_BYTES);
	set_file_bytes_max(RLIM_INFINITY);
	log_one(l, FEW);
	log_stop(l, PATIENCE_MS);
	n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK_NUMBER(n, >, FILE_BYTES);
	text[n] = '\0';
	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (line[strlen(line) - 1] == '}')
			look_at(&found, line);
		else
			broken_count++;
	}
	CHECK_NUMBER(broken_count, ==, 1);
	CHECK_NUMBER(found.seen[FEW], ==, 1);
	CHECK_NUMBER(found.line_count + found.dropped_count, ==, FEW + 1);
	(void)close(fd);
}

/* The text that is written for one request or message. */
static char *written(enum log_mode mode, struct log_request *r,
		     const char *message)
{
	static char text[8192];
	int ends[2];
	ssize_t n;

	make_pipe(ends);
	struct log *l = start(ends[1], mode);

	if (r != NULL)
		log_request(l, r);
	if (message != NULL)
		log_message(l, LOG_LEVEL_WARN, "%s", message);
	log_stop(l, PATIENCE_MS);
	(void)close(ends[1]);
	n = read(ends[0], text, sizeof(text) - 1);
	CHECK_NUMBER(n, >=, 0);
	text[n] = '\0';
	(void)close(ends[0]);
	return text;
}

static void test_no_string_breaks_a_line(void)
{
	static const char evil[] = "a\n\"}\\\r\x1b[31m\x7f b";
	struct log_request r = {
		.id = evil, .method = "GET", .end = "gone", .path = evil
	};
	cJSON *o = cJSON_Parse(written(LOG_JSON, &r, NULL));

	CHECK_TEXT(cJSON_GetStringValue(cJSON_GetObjectItem(o, "id")), evil);
	CHECK(cJSON_IsNull(cJSON_GetObjectItem(o, "status")));
	cJSON_Delete(o);
	o = cJSON_Parse(written(LOG_JSON, NULL, evil));
	CHECK_TEXT(cJSON_GetStringValue(cJSON_GetObjectItem(o, "message")),
		   evil);
	cJSON_Delete(o);
	CHECK_TEXT(written(LOG_TEXT, NULL, evil),
		   "darkroom: a?\"}\\??[31m? b\n");
	char *text = written(LOG_TEXT, &r, NULL);

	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	CHECK(strpbrk(text, "\r\x1b\x7f") == NULL);
}

static void test_slow_and_failed_ones_stand_out(void)
{
	struct log_request r = { .id = "i", .method = "GET", .end = "sent" };

	r.status = 200;
	r.total_ns = 999999999;
	CHECK_PART(written(LOG_JSON, &r, NULL), "\"level\":\"info\"");
	CHECK_PART(written(LOG_JSON, &r, NULL), "\"total_s\":0.999999,"
						"\"slow\":false");
	r.total_ns = 1000000000;
	CHECK_PART(written(LOG_JSON, &r, NULL), "\"level\":\"warn\"");
	CHECK_PART(written(LOG_JSON, &r, NULL), "\"total_s\":1.000000,"
						"\"slow\":true");
	CHECK_PART(written(LOG_TEXT, &r, NULL), " SLOW\n");
	r.total_ns = 0;
	r.status = 503;
	CHECK_PART(written(LOG_JSON, &r, NULL), "\"level\":\"warn\"");
}

static void test_off_is_messages_alone(void)
{
	struct log_request r = { .id = "i", .method = "GET", .end = "sent" };

	CHECK_TEXT(written(LOG_OFF, &r, "hello"), "darkroom: hello\n");
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	test_lines_of_all_threads_are_written_once();
	test_who_logs_never_waits_and_misses_are_told();
	test_the_end_is_bounded();
	test_broken_descriptors_do_no_harm();
	test_a_cut_line_does_not_cut_the_next();
	test_no_string_breaks_a_line();
	test_slow_and_failed_ones_stand_out();
	test_off_is_messages_alone();
	return 0;
}

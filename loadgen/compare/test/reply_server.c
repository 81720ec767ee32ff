/* SPDX-License-Identifier: MIT */
/*
 * A server to compare: answers each upload after a pause, and /metrics with the
 * number of uploads, as `uploads_total`.
 *
 *	compare_reply_server PORT PAUSE_MS STATUS
 *
 * Says "pid N" at first, and ends at SIGTERM.  PORT "": says "no port" and
 * ends with status 3.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct behaviour {
	struct timespec pause;
	unsigned status;
	unsigned uploads;
};

static enum MHD_Result send_text(struct MHD_Connection *connection,
				 unsigned status, char *text)
{
	struct MHD_Response *reply = MHD_create_response_from_buffer(
		strlen(text), text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result queued = MHD_queue_response(connection, status, reply);

	MHD_destroy_response(reply);
	return queued;
}

/*
 * libmicrohttpd calls it after the headers, for each part of the body, and at
 * the end.
 */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection,
			      const char *url, const char *method,
			      const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	static char seen;
	struct behaviour *behaviour = arg;
	char text[64] = "reply";

	(void)method, (void)version, (void)upload;
	if (*request == NULL || *upload_bytes > 0) {
		*request = &seen;
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/metrics") == 0) {
		snprintf(text, sizeof(text), "uploads_total %u\n",
			 behaviour->uploads);
		return send_text(connection, 200, text);
	}
	behaviour->uploads++;
	nanosleep(&behaviour->pause, NULL);
	return send_text(connection, behaviour->status, text);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct behaviour behaviour = { .status = 200 };
	sigset_t ends;
	int received;

	if (argc != 4 || argv[1][0] == '\0') {
		fprintf(stderr, "no port\n");
		return 3;
	}
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	address.sin_port = htons((uint16_t)atoi(argv[1]));
	behaviour.pause.tv_nsec = atoi(argv[2]) * 1000000L;
	behaviour.status = (unsigned)atoi(argv[3]);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL,
			     handle, &behaviour, MHD_OPTION_SOCK_ADDR, &address,
			     MHD_OPTION_END) == NULL)
		return 4;
	sigwait(&ends, &received);
	return 0;
}

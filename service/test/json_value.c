/* SPDX-License-Identifier: MIT */
/*
 * json_value [http://127.0.0.1:PORT/PATH] .NAME[.NAME]...: print these members
 * of the JSON at this address, or on standard input, one in a line, as `jq -r`
 * does; of NAME[], the members of all elements, with spaces between them.  It
 * takes a tenth of the time of curl and jq.
 */
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 20, PATIENCE_S = 60 };

static char text[TEXT_BYTES];

static bool read_all(int fd)
{
	size_t bytes = 0;
	ssize_t got;

	while ((got = read(fd, text + bytes, TEXT_BYTES - 1 - bytes)) > 0)
		bytes += (size_t)got;
	return got == 0 && bytes > 0;
}

/* Returns the body of the reply; NULL: none with status 200. */
static const char *fetch(const char *url)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	char path[1024];
	unsigned short port;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const char *body;

	if (sscanf(url, "http://127.0.0.1:%hu%1023s", &port, path) != 2)
		return NULL;
	to.sin_port = htons(port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) != 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 ||
	    dprintf(fd,
		    "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%hu\r\n"
		    "Connection: close\r\n\r\n",
		    path, port) < 0 ||
	    !read_all(fd) || strncmp(text, "HTTP/1.1 200 ", 13) != 0)
		return NULL;
	body = strstr(text, "\r\n\r\n");
	return body != NULL ? body + 4 : NULL;
}

static void print(const cJSON *at)
{
	char *printed;

	if (cJSON_IsString(at)) {
		(void)fputs(at->valuestring, stdout);
		return;
	}
	printed = at != NULL ? cJSON_PrintUnformatted(at) : NULL;
	(void)fputs(printed != NULL ? printed : "null", stdout);
	free(printed);
}

/* Print the member of `at` at this path, such as "stages[].name". */
static void print_member(const cJSON *at, const char *path)
{
	const cJSON *element;
	char name[128];
	size_t bytes = strcspn(path, ".[");

	if (path[0] == '[' && !cJSON_IsArray(at)) {
		print(NULL);
	} else if (path[0] == '[') { /* after it: "]" */
		cJSON_ArrayForEach(element, at)
		{
			if (element != at->child)
				(void)putchar(' ');
			print_member(element, path + 2);
		}
	} else if (path[0] == '.') {
		print_member(at, path + 1);
	} else if (path[0] == '\0') {
		print(at);
	} else {
		(void)snprintf(name, sizeof(name), "%.*s", (int)bytes, path);
		print_member(cJSON_GetObjectItemCaseSensitive(at, name),
			     path + bytes);
	}
}

int main(int argc, char **argv)
{
	const char *from = text;
	const cJSON *json;
	int first = 1;

	if (argc > 1 && argv[1][0] == 'h')
		from = fetch(argv[first++]);
	else if (!read_all(STDIN_FILENO))
		return EXIT_FAILURE;
	json = from != NULL ? cJSON_Parse(from) : NULL;
	if (json == NULL || first >= argc)
		return EXIT_FAILURE;
	for (int i = first; i < argc; i++) {
		print_member(json, argv[i]);
		(void)putchar('\n');
	}
	return EXIT_SUCCESS;
}

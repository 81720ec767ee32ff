/* SPDX-License-Identifier: MIT */
/* stats: table 4.1 of Gordon's thesis for any folder of uploads. */
#include "datasets/folder.h"
#include "datasets/inspect.h"
#include "datasets/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_file(struct table *table, const char *path)
{
	struct content file;
	struct facts facts;

	if (!content_read(&file, path)) {
		fprintf(stderr, "stats: %s: %s\n", path, strerror(errno));
		return false;
	}
	table_add(table, file.size_bytes,
		  inspect(&facts, file.bytes, file.size_bytes) ? &facts : NULL);
	free(file.bytes);
	return true;
}

int main(int argc, char **argv)
{
	struct folder folder;
	struct table table = { 0 };
	bool all_read = true;

	if (argc != 2 || argv[1][0] == '-') {
		fputs("Usage: stats DIR\n"
		      "Sizes of the *.jpg and *.jpeg files below DIR, as in "
		      "table "
		      "4.1 of UCAM-CL-TR-781,\nand what their headers say.\n",
		      stderr);
		return 2;
	}
	if (!folder_list(&folder, argv[1], NULL)) {
		fprintf(stderr, "stats: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (uint32_t i = 0; i < folder.count; i++)
		all_read = add_file(&table, folder.paths[i]) && all_read;
	if (table.file_count == 0) {
		fprintf(stderr, "stats: no JPEGs in %s\n", argv[1]);
		return 1;
	}
	table_print(&table, stdout);
	table_release(&table);
	folder_release(&folder);
	return all_read ? 0 : 1;
}

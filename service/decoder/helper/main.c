/* SPDX-License-Identifier: MIT */
/*
 * darkroom-decoder: decodes pictures for darkroom, in processes that can be
 * lost.
 */
#include "service/decoder/helper/serve.h"

#include "base/take.h"
#include "service/decoder/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char version[DECODER_VERSION_CHARS];
	uint64_t lanes, bytes_max;

	decoder_version(version);
	if (argc != 4 || strcmp(argv[1], version) != 0 ||
	    !number_read_whole(argv[2], 1, DECODER_LANES_MAX, &lanes) ||
	    !number_read_whole(argv[3], 1, UINT64_MAX, &bytes_max)) {
		(void)fprintf(stderr,
			      "darkroom-decoder is started by a darkroom that "
			      "is built alike (%s), and by nobody else\n",
			      version);
		return 2;
	}
	return decoder_serve((uint32_t)lanes, bytes_max, img_decode);
}

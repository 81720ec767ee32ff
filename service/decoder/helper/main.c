/* SPDX-License-Identifier: MIT */
/*
 * darkroom-decoder: decodes pictures for darkroom, and packs and restores
 * originals, in processes that can be lost.
 */
#include "service/decoder/helper/serve.h"

int main(int argc, char **argv)
{
	static const struct decoder_work work = { .decode = img_decode,
						  .repack = img_repack };

	return decoder_main(argc, argv, &work);
}

/* SPDX-License-Identifier: MIT */
/*
 * darkroom-heif: decodes HEIC for darkroom, as darkroom-decoder does other
 * formats.  Nothing else is linked with libde265.
 */
#include "imgops/formats/heic/heic.h"
#include "service/decoder/helper/serve.h"

int main(int argc, char **argv)
{
	static const struct decoder_work work = { .decode = heic_decode };

	return heic_start() ? decoder_main(argc, argv, &work) : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * darkroom-heif: decodes HEIC for darkroom, as darkroom-decoder does other
 * formats.  Nothing else is linked with libde265.
 */
#include "imgops/formats/heic/heic.h"
#include "service/decoder/helper/serve.h"

#include <malloc.h>

int main(int argc, char **argv)
{
	/*
	 * libde265 shows memory that it has not written, if data are missing;
	 * so no block is handed out as another file has left it.
	 */
	(void)mallopt(M_PERTURB, 1);
	return heic_start() ? decoder_main(argc, argv, heic_decode) : 1;
}

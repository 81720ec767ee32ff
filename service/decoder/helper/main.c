/* SPDX-License-Identifier: MIT */
/*
 * darkroom-decoder: decodes pictures for darkroom, in processes that can be
 * lost.
 */
#include "service/decoder/helper/serve.h"

int main(int argc, char **argv)
{
	return decoder_main(argc, argv, img_decode);
}

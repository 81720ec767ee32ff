/* SPDX-License-Identifier: MIT */
/*
 * The registry: one line per format, its name in C and its word, in the order
 * in which users see them.  The first is the default of a result.  imgops/
 * CMakeLists.txt defines IMG_<NAME> for a format that needs a library.
 */
FORMAT(JPEG, jpeg)
#ifdef IMG_PNG
FORMAT(PNG, png)
#endif
#ifdef IMG_WEBP
FORMAT(WEBP, webp)
#endif
#ifdef IMG_AVIF
FORMAT(AVIF, avif)
#endif
#ifdef IMG_JXL
FORMAT(JXL, jxl)
#endif
FORMAT(PPM, ppm)
/* Formats without results are behind those with. */
#ifndef READ_ONLY_FORMAT
#define READ_ONLY_FORMAT(name, word) FORMAT(name, word)
#endif
#ifdef IMG_GIF
READ_ONLY_FORMAT(GIF, gif)
#endif
#ifdef IMG_HEIC
READ_ONLY_FORMAT(HEIC, heic)
#endif
#undef READ_ONLY_FORMAT

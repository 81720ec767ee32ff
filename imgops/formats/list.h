/* SPDX-License-Identifier: MIT */
/*
 * The registry: one line per format, its name in C and its word, in the order
 * in which users see them.  The first is the default of a result.
 */
FORMAT(JPEG, jpeg)
FORMAT(PPM, ppm)

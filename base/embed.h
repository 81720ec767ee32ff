/* SPDX-License-Identifier: MIT */
/*
 * Embed: a file of the sources as a text of the program.
 *
 * The assembler includes it, as C11 cannot.  CMakeLists.txt tells it the
 * folders to search, by darkroom_embed().
 */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

/* Define `symbol`, the file's bytes and a zero; symbol_end is at the zero. */
#define EMBED_TEXT(symbol, file)                                               \
	extern const char symbol[], symbol##_end[];                            \
	__asm__(".pushsection .rodata\n" #symbol ": .incbin \"" file           \
		"\"\n" #symbol "_end: .byte 0\n"                               \
		".popsection\n");

#endif

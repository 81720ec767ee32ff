/* SPDX-License-Identifier: MIT */
/*
 * Embed: puts a file of the sources into the program, as text.
 *
 * The assembler includes the file, because C11 cannot.  In CMakeLists.txt,
 * darkroom_embed() names the folders to search.
 */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

/* Define `symbol`: the file's bytes, then a zero byte at symbol_end. */
#define EMBED_TEXT(symbol, file)                                               \
	extern const char symbol[], symbol##_end[];                            \
	__asm__(".pushsection .rodata\n" #symbol ": .incbin \"" file           \
		"\"\n" #symbol "_end: .byte 0\n"                               \
		".popsection\n");

#endif

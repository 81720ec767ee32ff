/* SPDX-License-Identifier: MIT */
/*
 * Attacks: the attempts of somebody who has got control of a process.  They aim
 * at a work folder in /tmp, at sockets that are open, and at the parent
 * process.
 */
#ifndef SERVICE_TEST_ATTACKS_H
#define SERVICE_TEST_ATTACKS_H

struct attack {
	const char *name;
	int (*attempt)(void); /* returns 0 or an errno */
	int refusal;          /* its result in a sandbox */
};

extern const struct attack attacks[]; /* the last one has no name */

/* Returns the folder, below the work folder, that the sandbox must allow. */
const char *attacks_prepare(void);

/*
 * Make the files and sockets again that an attack changes: an open socket would
 * keep its settings.
 */
void attacks_renew(void);

void attacks_clean_up(void);

/* The result of `run` in a process of its own; -1: the process crashed. */
int attacks_in_a_process(int (*run)(void));

/* The version of the kernel's Landlock; 0: it has none. */
long attacks_landlock_abi(void);

/*
 * From now on, the kernel says that its Landlock has this version.  It needs
 * -Wl,--wrap=syscall.
 */
void attacks_pretend_landlock_abi(long abi);

#endif

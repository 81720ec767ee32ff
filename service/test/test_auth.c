/* SPDX-License-Identifier: MIT */
/*
 * Promises: files of keys are read as documented; an error in one is reported
 * by its line number, never by its text; any one of the keys is enough, and
 * nothing else is; keys of one name have one owner; a signature is valid until
 * the second that it names.
 */
#include "service/http/auth.c"

#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/test_auth.XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert(f != NULL && fputs(text, f) >= 0);
	assert(fclose(f) == 0);
}

static struct auth *auth_of(const char *api_keys, const char *sign_keys)
{
	struct auth *a = auth_new();
	char why[AUTH_WHY_BYTES];

	assert(a != NULL && !auth_is_on(a));
	if (api_keys != NULL) {
		write_file(api_keys);
		assert(auth_read_api_keys(a, path, why));
	}
	if (sign_keys != NULL) {
		write_file(sign_keys);
		assert(auth_read_sign_keys(a, path, why));
	}
	return a;
}

static void test_files_are_read_as_documented(void)
{
	char owner[AUTH_OWNER_BYTES];
	struct auth *a = auth_of("# ours\n\n0123456789abcdef\r\n#0123\n"
				 "fedcba9876543210",
				 NULL);

	assert(auth_is_on(a));
	assert(auth_check_key(a, "Bearer 0123456789abcdef", owner) ==
	       PROBLEM_NONE);
	assert(auth_check_key(a, "bearer  fedcba9876543210", owner) ==
	       PROBLEM_NONE);
	auth_free(a);
}

static void test_wrong_files_are_told_by_line(void)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "there is no key in it" },
		{ "# only this\n", "there is no key in it" },
		{ "0123456789abcde", "line 1 has a key shorter" },
		{ "0123456789abcdef\n\nsecret word 12345\n", "line 3 has" },
		{ "0123456789abcde\xc3\xa9\n", "line 1 has a space in" },
		{ "shop 0123456789abcde\n", "line 1 has a key shorter" },
		{ "secret0123456789 shop\n", "line 1 has a key shorter" },
		{ "shop  0123456789abcdef \n", "line 1 has a space in" },
		{ " 0123456789abcdef\n", "line 1 has a space in" },
		{ "shop\t0123456789abcdef\n", "line 1 has a space in" },
		{ "secret,shop 0123456789abcdef\n", "line 1 has a name with" },
		{ "secret#shop 0123456789abcdef\n", "line 1 has a name with" },
		{ "secret_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		  "xxxxxxxxxxxxxxxxxxxxxxxxx 0123456789abcdef\n",
		  "line 1 has a name longer" },
	};
	static char many[(AUTH_KEYS_MAX + 1) * 17 + 1], large[600];

	for (size_t i = 0; i < AUTH_KEYS_MAX + 1; i++)
		strcat(many, "0123456789abcdef\n");
	memset(large, 'x', 513);
	for (size_t i = 0; i < ARRAY_SIZE(cases) + 3; i++) {
		struct auth *a = auth_new();
		char why[AUTH_WHY_BYTES];
		const char *expected = "No such file or directory";

		(void)unlink(path);
		if (i < ARRAY_SIZE(cases)) {
			write_file(cases[i].text);
			expected = cases[i].why;
		} else if (i == ARRAY_SIZE(cases)) {
			write_file(many);
			expected = "line 101 is one key too many";
		} else if (i == ARRAY_SIZE(cases) + 1) {
			write_file(large);
			expected = "line 1 has a key longer";
		}
		assert(!auth_read_api_keys(a, path, why));
		assert(strncmp(why, expected, strlen(expected)) == 0);
		assert(strstr(why, "secret") == NULL);
		auth_free(a);
	}
}

static void test_only_the_keys_are_enough(void)
{
	static const char *const missing[] = {
		NULL,
		"",
		"Bearer",
		"Basic MDEyMzQ1Njc4OWFiY2RlZg==",
		"0123456789abcdef",
	};
	static const char *const wrong[] = {
		"Bearer ",
		"Bearer 0123456789abcde",
		"Bearer 0123456789abcdeF",
		"Bearer 0123456789abcdef ",
		"Bearer 0123456789abcdef,fedcba9876543210",
		"Bearer # no key at all",
		"Bearer shop 1122334455667788",
		"Bearer shop",
	};
	char owner[AUTH_OWNER_BYTES] = "as before";
	struct auth *a = auth_of("0123456789abcdef\nfedcba9876543210\n"
				 "# no key at all\nshop 1122334455667788\n",
				 "sign-key-of-more-than-16\n");

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		assert(auth_check_key(a, missing[i], owner) ==
		       PROBLEM_UNAUTHORIZED);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert(auth_check_key(a, wrong[i], owner) ==
		       PROBLEM_INVALID_KEY);
	/* A sign key is never sent. */
	assert(auth_check_key(a, "Bearer sign-key-of-more-than-16", owner) ==
	       PROBLEM_INVALID_KEY);
	assert(strcmp(owner, "as before") == 0);
	auth_free(a);
}

static const char *owner_of(struct auth *a, const char *authorization)
{
	static char owner[AUTH_OWNER_BYTES];

	assert(auth_check_key(a, authorization, owner) == PROBLEM_NONE);
	return owner;
}

static char signer[AUTH_OWNER_BYTES]; /* of the last good signature */

static enum problem check(struct auth *a, const char *expires,
			  const char *signature, int64_t now_s)
{
	struct signature_parameter parameters[] = {
		{ "signature", signature },
		{ "w", "640" },
		{ "expires", expires },
	};

	return auth_check_signature(
		a,
		&(struct auth_request){ "POST", "/", parameters,
					expires != NULL ? 3 : 2 },
		now_s, signer);
}

/* printf 'POST\n/\nexpires=1000\nw=640\n' | openssl dgst ... */
static const char good[] =
	"496727aa75c798e66f028f7c995885bba554a5ab5167040f688faff53050617d";

static void test_a_signature_is_good_until_it_expires(void)
{
	struct auth *a = auth_of(NULL, "another-sign-key\n0123456789abcdef\n");

	assert(check(a, "1000", good, 0) == PROBLEM_NONE);
	assert(check(a, "1000", good, 999) == PROBLEM_NONE);
	assert(check(a, "1000", good, 1000) == PROBLEM_SIGNATURE_EXPIRED);
	assert(check(a, "1001", good, 999) == PROBLEM_BAD_SIGNATURE);
	assert(check(a, "01000", good, 999) == PROBLEM_BAD_SIGNATURE);
	/* Only who can sign learns that it expired. */
	assert(check(a, "1000", "00", 5000) == PROBLEM_BAD_SIGNATURE);
	assert(check(a, NULL, good, 999) == PROBLEM_BAD_SIGNATURE);
	assert(check(a, "", good, 999) == PROBLEM_BAD_SIGNATURE);
	assert(check(a, "-1", good, 999) == PROBLEM_BAD_SIGNATURE);
	assert(check(a, "9999999999999999999", good, 0) ==
	       PROBLEM_BAD_SIGNATURE);
	assert(check(a, "1000", NULL, 0) == PROBLEM_BAD_SIGNATURE);
	auth_free(a);
}

static void test_signatures_need_a_sign_key(void)
{
	struct auth *none = auth_of("0123456789abcdef\n", NULL);
	struct auth *other = auth_of(NULL, "another-sign-key\n");

	assert(check(none, "1000", good, 0) == PROBLEM_UNAUTHORIZED);
	assert(check(other, "1000", good, 0) == PROBLEM_BAD_SIGNATURE);
	assert(!auth_takes_parameter(none, "signature"));
	assert(auth_takes_parameter(other, "signature"));
	assert(auth_takes_parameter(other, "expires"));
	assert(!auth_takes_parameter(other, "w"));
	auth_free(none);
	auth_free(other);
}

static void test_two_of_a_kind_are_refused(void)
{
	struct auth *a = auth_of(NULL, "0123456789abcdef\n");
	struct signature_parameter twice[][4] = {
		{ { "signature", good },
		  { "signature", good },
		  { "w", "640" },
		  { "expires", "1000" } },
		{ { "signature", good },
		  { "expires", "1000" },
		  { "w", "640" },
		  { "expires", "1000" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(twice); i++)
		assert(auth_check_signature(a,
					    &(struct auth_request){
						    "POST", "/", twice[i], 4 },
					    0,
					    signer) == PROBLEM_BAD_SIGNATURE);
	auth_free(a);
}

static void test_a_key_has_an_owner(void)
{
	struct auth *a = auth_of("0123456789abcdef\nshop 1122334455667788\n"
				 "shop   aabbccddeeff0011\n"
				 "Shop.2_b-c 2211334455667788\n",
				 "another-sign-key\nshop 0123456789abcdef\n");

	/* printf 0123456789abcdef | sha256sum | cut -c1-16 */
	assert(strcmp(owner_of(a, "Bearer 0123456789abcdef"),
		      "#9f9f5111f7b27a78") == 0);
	/* An old key and its replacement have the same owner. */
	assert(strcmp(owner_of(a, "Bearer 1122334455667788"), "shop") == 0);
	assert(strcmp(owner_of(a, "Bearer aabbccddeeff0011"), "shop") == 0);
	assert(strcmp(owner_of(a, "Bearer 2211334455667788"), "Shop.2_b-c") ==
	       0);
	assert(check(a, "1000", good, 0) == PROBLEM_NONE);
	assert(strcmp(signer, "shop") == 0);
	auth_free(a);
}

int main(void)
{
	int fd = mkstemp(path);

	assert(fd >= 0 && close(fd) == 0);
	test_files_are_read_as_documented();
	test_wrong_files_are_told_by_line();
	test_only_the_keys_are_enough();
	test_a_key_has_an_owner();
	test_a_signature_is_good_until_it_expires();
	test_signatures_need_a_sign_key();
	test_two_of_a_kind_are_refused();
	assert(unlink(path) == 0 || access(path, F_OK) != 0);
	return 0;
}

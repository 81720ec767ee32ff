/* SPDX-License-Identifier: MIT */
/*
 * Keys: files of keys are read as documented; an error in one is reported by
 * its line number, never by its text; a request with one of the keys is
 * allowed, any other is not; keys of one name have one owner; a signature is
 * valid until the second that it names.
 *
 * Signatures are HMAC-SHA256 as in RFC 4231, of the text that auth.c describes,
 * whatever the order of the parameters; two different requests have different
 * signatures; a single wrong digit is noticed.
 */
#include "service/http/head/auth.c"

#include "base/test/check.h"
#include "base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char keys_path[] = "/tmp/test_auth.XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(keys_path, "w");

	CHECK(f != NULL);
	CHECK_NUMBER(fputs(text, f), >=, 0);
	CHECK_NUMBER(fclose(f), ==, 0);
}

static struct auth *auth_of(const char *api_keys, const char *sign_keys)
{
	struct auth *a = auth_new();
	char why[AUTH_WHY_BYTES];

	CHECK(a != NULL);
	CHECK(!auth_is_on(a));
	if (api_keys != NULL) {
		write_file(api_keys);
		CHECK(auth_read_api_keys(a, keys_path, why));
	}
	if (sign_keys != NULL) {
		write_file(sign_keys);
		CHECK(auth_read_sign_keys(a, keys_path, why));
	}
	return a;
}

static void test_files_are_read_as_documented(void)
{
	char owner[AUTH_OWNER_BYTES];
	struct auth *a = auth_of("# ours\n\n0123456789abcdef\r\n#0123\n"
				 "fedcba9876543210",
				 NULL);

	CHECK(auth_is_on(a));
	CHECK_NUMBER(match_key(&a->keys, "Bearer 0123456789abcdef", owner), ==,
		     PROBLEM_NONE);
	CHECK_NUMBER(match_key(&a->keys, "bearer  fedcba9876543210", owner), ==,
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

		(void)unlink(keys_path);
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
		CHECK(!auth_read_api_keys(a, keys_path, why));
		CHECK(strncmp(why, expected, strlen(expected)) == 0);
		CHECK(strstr(why, "secret") == NULL);
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
		CHECK_NUMBER(match_key(&a->keys, missing[i], owner), ==,
			     PROBLEM_UNAUTHORIZED);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_NUMBER(match_key(&a->keys, wrong[i], owner), ==,
			     PROBLEM_INVALID_KEY);
	/* A sign key is never sent. */
	CHECK_NUMBER(
		match_key(&a->keys, "Bearer sign-key-of-more-than-16", owner),
		==, PROBLEM_INVALID_KEY);
	CHECK_TEXT(owner, "as before");
	auth_free(a);
}

static void test_metrics_keys_are_of_their_own(void)
{
	char owner[AUTH_OWNER_BYTES], why[AUTH_WHY_BYTES];
	struct auth *a = auth_of("0123456789abcdef\n", NULL);

	write_file("# of monitoring\nprometheus fedcba9876543210\n");
	CHECK(auth_read_metrics_keys(a, keys_path, why));
	CHECK(is_metrics_key(&a->keys, "Bearer fedcba9876543210"));
	CHECK_NUMBER(match_key(&a->keys, "Bearer fedcba9876543210", owner), ==,
		     PROBLEM_INVALID_KEY);
	CHECK(!is_metrics_key(&a->keys, "Bearer 0123456789abcdef"));
	CHECK(!is_metrics_key(&a->keys, "Bearer fedcba9876543210x"));
	CHECK(!is_metrics_key(&a->keys, "Bearer prometheus fedcba9876543210"));
	CHECK(!is_metrics_key(&a->keys, NULL));
	write_file("too-short\n");
	CHECK(!auth_read_metrics_keys(a, keys_path, why));
	auth_free(a);

	/* Alone, they do not close the server. */
	a = auth_of(NULL, NULL);
	write_file("fedcba9876543210\n");
	CHECK(auth_read_metrics_keys(a, keys_path, why));
	CHECK(!auth_is_on(a));
	auth_free(a);
}

static const char *owner_of(struct auth *a, const char *authorization)
{
	static char owner[AUTH_OWNER_BYTES];

	CHECK_NUMBER(match_key(&a->keys, authorization, owner), ==,
		     PROBLEM_NONE);
	return owner;
}

/* The owner of the key of the last valid signature. */
static char signer[AUTH_OWNER_BYTES];

static enum problem check(struct auth *a, const char *expires,
			  const char *signature, int64_t now_s)
{
	struct signed_query q = {
		.method = "POST",
		.path = "/",
		.parameters = { { "signature", signature },
				{ "w", "640" },
				{ "expires", expires } },
		.count = expires != NULL ? 3 : 2,
	};

	return match_signature(&a->keys, &q, now_s, signer);
}

/* printf 'POST\n/\nexpires=1000\nw=640\n' | openssl dgst ... */
static const char good_signature[] =
	"496727aa75c798e66f028f7c995885bba554a5ab5167040f688faff53050617d";

static void test_a_signature_is_good_until_it_expires(void)
{
	struct auth *a = auth_of(NULL, "another-sign-key\n0123456789abcdef\n");

	CHECK_NUMBER(check(a, "1000", good_signature, 0), ==, PROBLEM_NONE);
	CHECK_NUMBER(check(a, "1000", good_signature, 999), ==, PROBLEM_NONE);
	CHECK_NUMBER(check(a, "1000", good_signature, 1000), ==,
		     PROBLEM_SIGNATURE_EXPIRED);
	CHECK_NUMBER(check(a, "1001", good_signature, 999), ==,
		     PROBLEM_BAD_SIGNATURE);
	CHECK_NUMBER(check(a, "01000", good_signature, 999), ==,
		     PROBLEM_BAD_SIGNATURE);
	/* Only a client that can sign learns that a signature has expired. */
	CHECK_NUMBER(check(a, "1000", "00", 5000), ==, PROBLEM_BAD_SIGNATURE);
	CHECK_NUMBER(check(a, NULL, good_signature, 999), ==,
		     PROBLEM_BAD_SIGNATURE);
	CHECK_NUMBER(check(a, "", good_signature, 999), ==,
		     PROBLEM_BAD_SIGNATURE);
	CHECK_NUMBER(check(a, "-1", good_signature, 999), ==,
		     PROBLEM_BAD_SIGNATURE);
	CHECK_NUMBER(check(a, "9999999999999999999", good_signature, 0), ==,
		     PROBLEM_BAD_SIGNATURE);
	CHECK_NUMBER(check(a, "1000", NULL, 0), ==, PROBLEM_BAD_SIGNATURE);
	auth_free(a);
}

static void test_signatures_need_a_sign_key(void)
{
	struct auth *none = auth_of("0123456789abcdef\n", NULL);
	struct auth *other = auth_of(NULL, "another-sign-key\n");

	CHECK_NUMBER(check(none, "1000", good_signature, 0), ==,
		     PROBLEM_UNAUTHORIZED);
	CHECK_NUMBER(check(other, "1000", good_signature, 0), ==,
		     PROBLEM_BAD_SIGNATURE);
	CHECK(!auth_takes_parameter(none, "signature"));
	CHECK(auth_takes_parameter(other, "signature"));
	CHECK(auth_takes_parameter(other, "expires"));
	CHECK(!auth_takes_parameter(other, "w"));
	auth_free(none);
	auth_free(other);
}

static void test_two_of_a_kind_are_refused(void)
{
	struct auth *a = auth_of(NULL, "0123456789abcdef\n");
	struct signed_query twice[] = {
		{ "POST",
		  "/",
		  { { "signature", good_signature },
		    { "signature", good_signature },
		    { "w", "640" },
		    { "expires", "1000" } },
		  4 },
		{ "POST",
		  "/",
		  { { "signature", good_signature },
		    { "expires", "1000" },
		    { "w", "640" },
		    { "expires", "1000" } },
		  4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(twice); i++)
		CHECK_NUMBER(match_signature(&a->keys, &twice[i], 0, signer),
			     ==, PROBLEM_BAD_SIGNATURE);
	auth_free(a);
}

static void test_a_key_has_an_owner(void)
{
	struct auth *a = auth_of("0123456789abcdef\nshop 1122334455667788\n"
				 "shop   aabbccddeeff0011\n"
				 "Shop.2_b-c 2211334455667788\n",
				 "another-sign-key\nshop 0123456789abcdef\n");

	/* printf 0123456789abcdef | sha256sum | cut -c1-16 */
	CHECK_TEXT(owner_of(a, "Bearer 0123456789abcdef"), "#9f9f5111f7b27a78");
	/* An old key and its replacement have the same owner. */
	CHECK_TEXT(owner_of(a, "Bearer 1122334455667788"), "shop");
	CHECK_TEXT(owner_of(a, "Bearer aabbccddeeff0011"), "shop");
	CHECK_TEXT(owner_of(a, "Bearer 2211334455667788"), "Shop.2_b-c");
	CHECK_NUMBER(check(a, "1000", good_signature, 0), ==, PROBLEM_NONE);
	CHECK_TEXT(signer, "shop");
	auth_free(a);
}

static void test_keys_are_those_of_rfc_4231(void)
{
	static const uint8_t jefe[SHA256_DIGEST_SIZE] = {
		0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e,
		0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
		0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83,
		0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43,
	};
	/* Case 6: a key of 131 bytes, more than a block of the hash. */
	static const uint8_t large[SHA256_DIGEST_SIZE] = {
		0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f,
		0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f,
		0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28, 0xc5, 0x14,
		0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54,
	};
	char aa[131];
	const struct {
		const char *key;
		size_t key_bytes;
		const char *data;
		const uint8_t *digest;
	} cases[] = {
		{ "Jefe", 4, "what do ya want for nothing?", jefe },
		{ aa, sizeof(aa),
		  "Test Using Larger Than Block-Size Key - Hash Key First",
		  large },
	};

	memset(aa, 0xaa, sizeof(aa));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct signature_key key;
		uint8_t digest[SHA256_DIGEST_SIZE];

		check_case("cases[%zu]", i);
		signature_key_set(&key, cases[i].key, cases[i].key_bytes);
		hmac_sha256_update(&key.start, strlen(cases[i].data),
				   (const uint8_t *)cases[i].data);
		hmac_sha256_digest(&key.start, sizeof(digest), digest);
		CHECK(memcmp(digest, cases[i].digest, sizeof(digest)) == 0);
	}
}

static bool sign(char hex[SIGNATURE_HEX_CHARS + 1], const char *method,
		 const char *path, const struct signature_parameter *parameters,
		 uint32_t count)
{
	static const char secret[] = "0123456789abcdef";
	struct signature_key key;
	struct signed_query q = { .method = method,
				  .path = path,
				  .count = count };

	if (count > 0)
		memcpy(q.parameters, parameters, count * sizeof(*parameters));
	signature_key_set(&key, secret, strlen(secret));
	return signature_make(hex, &key, &q);
}

/* printf 'POST\n/\n...' | openssl dgst -sha256 -hmac 0123456789abcdef */
static const char nothing_else[] =
	"700aec70867c0a375bdfbaaad4e57fa1c78804a3e024b24fc8f7f1d84796bd28";
static const char variants[] =
	"442984e8f90d78cfc0798d44711e9680a64ab19a97e9c71621349afe32bf29de";
static const char ordered[] =
	"d914edb3e50ae94e575ae7aa37e63fa087690e951468d49f73b75581c1d20a5e";

static void test_the_form_is_as_documented(void)
{
	char hex[SIGNATURE_HEX_CHARS + 1];
	struct signature_parameter some[] = {
		{ "w", "640" },
		{ "variant", "b:q=\xc3\xa9" },
		{ "h", "480" },
		{ "variant", "a:w=1,h=2" },
		{ "expires", "2000000000" },
	};

	CHECK(sign(hex, "POST", "/", NULL, 0));
	CHECK_TEXT(hex, nothing_else);
	CHECK(sign(hex, "POST", "/v1/process", some, ARRAY_SIZE(some)));
	CHECK_TEXT(hex, variants);
}

/* "-" is less than "=", so lines are not in the order of keys. */
static void test_lines_are_in_the_order_of_bytes(void)
{
	static const struct signature_parameter some[] = {
		{ "a", "1" },
		{ "a", NULL },
		{ "a-b", "1" },
	};

	for (uint32_t first = 0; first < 3; first++) {
		for (uint32_t step = 1; step < 3; step++) {
			char hex[SIGNATURE_HEX_CHARS + 1];
			struct signature_parameter turned[] = {
				some[first],
				some[(first + step) % 3],
				some[(first + 2 * step) % 3],
			};

			CHECK(sign(hex, "POST", "/", turned, 3));
			CHECK_TEXT(hex, ordered);
		}
	}
}

static void test_what_could_be_read_twice_is_not_signed(void)
{
	char hex[SIGNATURE_HEX_CHARS + 1];

	CHECK(!sign(hex, "POST", "/",
		    &(struct signature_parameter){ "a=b", "c" }, 1));
	CHECK(!sign(hex, "POST", "/",
		    &(struct signature_parameter){ "a\nb", "c" }, 1));
	CHECK(!sign(hex, "POST", "/",
		    &(struct signature_parameter){ "a", "1\nw=2" }, 1));
	CHECK(sign(hex, "POST", "/",
		   &(struct signature_parameter){ "a", "b=c" }, 1));
}

static void test_each_request_has_its_own(void)
{
	char hex[5][SIGNATURE_HEX_CHARS + 1];
	struct signature_parameter w1 = { "w", "1" }, w2 = { "w", "2" },
				   h1 = { "h", "1" };

	CHECK(sign(hex[0], "POST", "/", &w1, 1));
	CHECK(sign(hex[1], "DELETE", "/", &w1, 1));
	CHECK(sign(hex[2], "POST", "/v1/process", &w1, 1));
	CHECK(sign(hex[3], "POST", "/", &w2, 1));
	CHECK(sign(hex[4], "POST", "/", &h1, 1));
	for (size_t i = 0; i < ARRAY_SIZE(hex); i++)
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(hex[i], hex[j]) != 0);
}

static void test_every_digit_counts(void)
{
	char given[SIGNATURE_HEX_CHARS + 2];

	for (size_t i = 0; i < SIGNATURE_HEX_CHARS; i++) {
		strcpy(given, variants);
		given[i] = given[i] == '0' ? '1' : '0';
		CHECK(!signature_is(variants, given));
		given[i] = '\0';
		CHECK(!signature_is(variants, given));
	}
	strcpy(given, variants);
	CHECK(signature_is(variants, given));
	strcat(given, "0");
	CHECK(!signature_is(variants, given));
	for (size_t i = 0; i < SIGNATURE_HEX_CHARS; i++)
		given[i] = (char)toupper((unsigned char)variants[i]);
	given[SIGNATURE_HEX_CHARS] = '\0';
	CHECK(signature_is(variants, given));
}

int main(void)
{
	int fd = mkstemp(keys_path);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(close(fd), ==, 0);
	test_files_are_read_as_documented();
	test_wrong_files_are_told_by_line();
	test_only_the_keys_are_enough();
	test_metrics_keys_are_of_their_own();
	test_a_key_has_an_owner();
	test_a_signature_is_good_until_it_expires();
	test_signatures_need_a_sign_key();
	test_two_of_a_kind_are_refused();
	test_keys_are_those_of_rfc_4231();
	test_the_form_is_as_documented();
	test_lines_are_in_the_order_of_bytes();
	test_what_could_be_read_twice_is_not_signed();
	test_each_request_has_its_own();
	test_every_digit_counts();
	CHECK(unlink(keys_path) == 0 || access(keys_path, F_OK) != 0);
	return 0;
}

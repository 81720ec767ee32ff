/* SPDX-License-Identifier: MIT */
/*
 * Promises: signatures are HMAC-SHA256 as RFC 4231 has it, of the form that
 * auth.c has, and the same in whatever order parameters come; no two
 * queries have the same; one wrong digit is found wherever it is.
 */
#include "service/http/auth.c"

#include "base/util.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

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

		signature_key_set(&key, cases[i].key, cases[i].key_bytes);
		hmac_sha256_update(&key.start, strlen(cases[i].data),
				   (const uint8_t *)cases[i].data);
		hmac_sha256_digest(&key.start, sizeof(digest), digest);
		assert(memcmp(digest, cases[i].digest, sizeof(digest)) == 0);
	}
}

static bool sign(char hex[SIGNATURE_HEX_CHARS + 1], const char *method,
		 const char *path, struct signature_parameter *parameters,
		 uint32_t count)
{
	static const char secret[] = "0123456789abcdef";
	struct signature_key key;

	signature_key_set(&key, secret, strlen(secret));
	return signature_make(hex, &key, method, path, parameters, count);
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

	assert(sign(hex, "POST", "/", NULL, 0));
	assert(strcmp(hex, nothing_else) == 0);
	assert(sign(hex, "POST", "/v1/process", some, ARRAY_SIZE(some)));
	assert(strcmp(hex, variants) == 0);
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

			assert(sign(hex, "POST", "/", turned, 3));
			assert(strcmp(hex, ordered) == 0);
		}
	}
}

static void test_what_could_be_read_twice_is_not_signed(void)
{
	char hex[SIGNATURE_HEX_CHARS + 1];

	assert(!sign(hex, "POST", "/",
		     &(struct signature_parameter){ "a=b", "c" }, 1));
	assert(!sign(hex, "POST", "/",
		     &(struct signature_parameter){ "a\nb", "c" }, 1));
	assert(!sign(hex, "POST", "/",
		     &(struct signature_parameter){ "a", "1\nw=2" }, 1));
	assert(sign(hex, "POST", "/",
		    &(struct signature_parameter){ "a", "b=c" }, 1));
}

static void test_each_request_has_its_own(void)
{
	char hex[5][SIGNATURE_HEX_CHARS + 1];
	struct signature_parameter w1 = { "w", "1" }, w2 = { "w", "2" },
				   h1 = { "h", "1" };

	assert(sign(hex[0], "POST", "/", &w1, 1));
	assert(sign(hex[1], "DELETE", "/", &w1, 1));
	assert(sign(hex[2], "POST", "/v1/process", &w1, 1));
	assert(sign(hex[3], "POST", "/", &w2, 1));
	assert(sign(hex[4], "POST", "/", &h1, 1));
	for (size_t i = 0; i < ARRAY_SIZE(hex); i++)
		for (size_t j = 0; j < i; j++)
			assert(strcmp(hex[i], hex[j]) != 0);
}

static void test_every_digit_counts(void)
{
	char given[SIGNATURE_HEX_CHARS + 2];

	for (size_t i = 0; i < SIGNATURE_HEX_CHARS; i++) {
		strcpy(given, variants);
		given[i] = given[i] == '0' ? '1' : '0';
		assert(!signature_is(variants, given));
		given[i] = '\0';
		assert(!signature_is(variants, given));
	}
	strcpy(given, variants);
	assert(signature_is(variants, given));
	strcat(given, "0");
	assert(!signature_is(variants, given));
	for (size_t i = 0; i < SIGNATURE_HEX_CHARS; i++)
		given[i] = (char)toupper((unsigned char)variants[i]);
	given[SIGNATURE_HEX_CHARS] = '\0';
	assert(signature_is(variants, given));
}

int main(void)
{
	test_keys_are_those_of_rfc_4231();
	test_the_form_is_as_documented();
	test_lines_are_in_the_order_of_bytes();
	test_what_could_be_read_twice_is_not_signed();
	test_each_request_has_its_own();
	test_every_digit_counts();
	return 0;
}

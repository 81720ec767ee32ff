/* SPDX-License-Identifier: MIT */
/* Signatures are those of the examples in Amazon's documents. */
#include "service/store/remote/helper/sign.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

static const char nothing[] =
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char host[] = "examplebucket.s3.amazonaws.com";

static const struct credentials keys = {
	.access_key = "AKIAIOSFODNN7EXAMPLE",
	.secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

static void expect(const struct sign_request *r, const char *wanted)
{
	char out[SIGN_BYTES];

	sign_print(out, r, "us-east-1", &keys);
	if (strcmp(out, wanted) == 0)
		return;
	fprintf(stderr, "%s\nis not\n%s\n", out, wanted);
	CHECK(false);
}

static void test_an_object(void)
{
	static const struct sign_request r = {
		.method = "GET",
		.path = "/test.txt",
		.headers = { { "host", host },
			     { "range", "bytes=0-9" },
			     { "x-amz-content-sha256", nothing },
			     { "x-amz-date", "20130524T000000Z" } },
		.header_count = 4,
	};

	expect(&r, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
		   "us-east-1/s3/aws4_request, SignedHeaders=host;range;"
		   "x-amz-content-sha256;x-amz-date, Signature="
		   "f0e8bdb87c964420e857bd35b5d6ed31"
		   "0bd44f0170aba48dd91039c6036bdb41");
}

static void test_a_list(void)
{
	static const struct sign_request r = {
		.method = "GET",
		.path = "/",
		.query = "max-keys=2&prefix=J",
		.headers = { { "host", host },
			     { "x-amz-content-sha256", nothing },
			     { "x-amz-date", "20130524T000000Z" } },
		.header_count = 3,
	};

	expect(&r, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
		   "us-east-1/s3/aws4_request, SignedHeaders=host;"
		   "x-amz-content-sha256;x-amz-date, Signature="
		   "34b48302e7b5fa45bde8084f4b7868a8"
		   "6f0a534bc59db6670ed5711ef69dc6f7");
}

static void test_dates(void)
{
	char date[SIGN_DATE_BYTES];

	sign_print_date(date, 1369353600);
	CHECK_TEXT(date, "20130524T000000Z");
}

int main(void)
{
	test_an_object();
	test_a_list();
	test_dates();
	return 0;
}

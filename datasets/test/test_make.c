/* SPDX-License-Identifier: MIT */
/*
 * An upload has its planned bytes, and looks like its part of the photo once
 * its orientation is applied.
 *
 * usage: test_make PHOTO
 */
#include "base/test/check.h"
#include "datasets/jpeg.h"
#include "datasets/make.h"
#include "datasets/test/support.h"

#include <math.h>
#include <stddef.h>

static struct source source;
static struct pyramid pyramid;
static struct icc_profiles profiles;

static struct plan plan_of(uint64_t target_bytes)
{
	return (struct plan){
		.number = 7,
		.seed = 11,
		.target_bytes = target_bytes,
		.part = { 0.1, 0.2, 0.6, 0.8 },
		.aspect = 0.75 * source.width / source.height,
		.side_min_px = 1,
		.side_max_px = 8000,
		.quality = 85,
		.sampling = SAMPLING_420,
		.orientation = 1,
	};
}

static double off(const struct upload *u)
{
	return (double)u->made.size_bytes / (double)u->plan.target_bytes - 1;
}

static void make(struct upload *u, struct jpeg *jpeg, struct jpeg_facts *facts)
{
	make_upload(u, jpeg, &source, &pyramid, &profiles);
	CHECK_NUMBER(jpeg->size_bytes, ==, u->made.size_bytes);
	CHECK(jpeg_inspect(facts, jpeg->bytes, jpeg->size_bytes));
	CHECK_NUMBER(facts->width, ==, u->made.width);
	CHECK_NUMBER(facts->height, ==, u->made.height);
}

static void test_targets_are_met(void)
{
	static const uint64_t targets[] = { 900, 5000, 40000, 300000 };

	for (int i = 0; i < 4; i++) {
		struct upload u = { .plan = plan_of(targets[i]) };
		struct jpeg jpeg;
		struct jpeg_facts facts;

		u.plan.optimised = true;
		make(&u, &jpeg, &facts);
		CHECK_NUMBER(fabs(off(&u)), <,
			     (targets[i] < 2000 ? 0.1 : 0.025));
		jpeg_release(&jpeg);
	}
}

/* The largest target needs more pixels than the photo has: it is enlarged. */
static void test_exact_targets_are_met_to_the_byte(void)
{
	static const uint64_t targets[] = { 398, 70001, 2500000 };

	for (int i = 0; i < 3; i++) {
		struct upload u = { .plan = plan_of(targets[i]) };
		struct jpeg jpeg;
		struct jpeg_facts facts;
		struct picture seen;

		u.plan.exact = true;
		u.plan.grey = u.plan.optimised = targets[i] < 800;
		make(&u, &jpeg, &facts);
		CHECK_NUMBER(jpeg.size_bytes, ==, targets[i]);
		decode_strictly(&seen, jpeg.bytes, jpeg.size_bytes);
		picture_release(&seen);
		jpeg_release(&jpeg);
		CHECK_NUMBER((u.made.enlarged > 1), ==,
			     (targets[i] == 2500000));
	}
}

static void test_turned_uploads_look_right(void)
{
	static const int orientations[] = { 1, 3, 6, 8 };

	for (int i = 0; i < 4; i++) {
		struct upload u = { .plan = plan_of(60000) };
		struct jpeg jpeg;
		struct jpeg_facts facts;
		struct picture stored, seen, wanted;
		const struct picture *photo = &pyramid.levels[0];
		struct box part = u.plan.part;

		u.plan.orientation = orientations[i];
		u.plan.exif = true;
		u.plan.thumbnail = i % 2;
		u.plan.icc = ICC_SRGB;
		make(&u, &jpeg, &facts);
		CHECK_NUMBER(facts.orientation, ==, orientations[i]);
		CHECK_NUMBER(facts.thumbnail, ==, (i % 2 == 1));
		CHECK_NUMBER(facts.icc_bytes, >, 300);
		CHECK_NUMBER(fabs(off(&u)), <, 0.025);

		decode_strictly(&stored, jpeg.bytes, jpeg.size_bytes);
		view(&seen, &stored, facts.orientation);
		part.left *= photo->width;
		part.width *= photo->width;
		part.top *= photo->height;
		part.height *= photo->height;
		picture_scale(&wanted, photo, part, seen.width, seen.height);
		CHECK_NUMBER(mean_difference(&seen, &wanted), <, 6);
		picture_release(&stored);
		picture_release(&seen);
		picture_release(&wanted);
		jpeg_release(&jpeg);
	}
}

/* Panoramas so narrow that their thumbnails have a side of one pixel. */
static void test_narrow_uploads_have_thumbnails(void)
{
	static const double aspects[] = { 200, 1 / 200.0 };

	for (int i = 0; i < 2; i++) {
		struct upload u = { .plan = plan_of(60000) };
		struct jpeg jpeg;
		struct jpeg_facts facts;

		u.plan.aspect = aspects[i];
		u.plan.exif = true;
		u.plan.thumbnail = true;
		make(&u, &jpeg, &facts);
		CHECK(facts.thumbnail);
		CHECK_NUMBER((facts.width > facts.height), ==,
			     (aspects[i] > 1));
		jpeg_release(&jpeg);
	}
}

static void test_sides_are_kept(void)
{
	struct upload u = { .plan = plan_of(80000) };
	struct jpeg jpeg;
	struct jpeg_facts facts;

	u.plan.side_min_px = 64;
	u.plan.side_max_px = 400;
	make(&u, &jpeg, &facts);
	CHECK_NUMBER(u.made.width, <=, 400);
	CHECK_NUMBER(u.made.height, <=, 400);
	CHECK_NUMBER(u.made.quality, >, 85); /* higher quality made the bytes */
	CHECK_NUMBER(fabs(off(&u)), <, 0.1);
	jpeg_release(&jpeg);
}

/*
 * The size is met by noise alone, or also by quality if too much noise would be
 * needed.
 */
static void test_frames_are_filled_by_noise(void)
{
	static const struct frame frame = { 1200, 900, 0, 1 };
	static const uint64_t targets[] = { 150000, 300000, 600000 };
	/* Is the quality lower than planned, as planned, or higher? */
	static const int changes[] = { -1, 0, 1 };

	for (int i = 0; i < 3; i++) {
		struct upload u = { .plan = plan_of(targets[i]) };
		struct jpeg jpeg;
		struct jpeg_facts facts;

		u.plan.frame = &frame;
		u.plan.aspect = 0.75;
		u.plan.orientation = 6;
		u.plan.exif = true;
		make(&u, &jpeg, &facts);
		CHECK_NUMBER(facts.width, ==, 1200);
		CHECK_NUMBER(facts.height, ==, 900);
		CHECK_NUMBER(fabs(off(&u)), <, 0.05);
		CHECK_NUMBER((u.made.quality > 85) - (u.made.quality < 85), ==,
			     changes[i]);
		jpeg_release(&jpeg);
	}
}

int main(int argc, char **argv)
{
	char reason[REASON_BYTES];

	CHECK_NUMBER(argc, ==, 2);
	source.path = argv[1];
	CHECK(source_survey(&source, reason));
	CHECK(pyramid_load(&pyramid, argv[1], reason));
	icc_profiles_init(&profiles);
	test_targets_are_met();
	test_exact_targets_are_met_to_the_byte();
	test_turned_uploads_look_right();
	test_narrow_uploads_have_thumbnails();
	test_sides_are_kept();
	test_frames_are_filled_by_noise();
	icc_profiles_release(&profiles);
	pyramid_release(&pyramid);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the CPU time and memory that a step will take, computed from
 * the header.
 *
 * Each step (scale.c, blur.c, decode and encode of a format) has one struct
 * step_estimate beside its code; estimate.c adds them up.  CPU time is a sum of
 * terms: each is a count (of bytes, blocks, samples, ...) times the time for
 * one of them.
 */
#ifndef IMGOPS_ESTIMATE_H
#define IMGOPS_ESTIMATE_H

#include "imgops/imgops.h"

/* The sizes that the steps will work on. */
struct workload {
	const struct img_header *header;
	uint32_t scale; /* the file will be decoded at scale/8 */
	/* The shape of the decoded picture, without samples. */
	struct image decoded;
	bool keeps_light; /* it is decoded for linear light */

	/* The members below describe one result. */
	const struct img_view *view;
	const struct img_transform *transform;
	const struct img_watermark *watermark; /* NULL: none */
	/* The picture must be scaled to planes of one size, then converted. */
	bool needs_pixels;
	struct image pixels; /* the shape of these planes, without samples */
	struct image scaled; /* the shape when it was scaled, without samples */
	struct image result; /* as padded */
	size_t profile_bytes; /* of the result's profile, at most */
	bool uses_lcms;       /* to read the profile and, perhaps, to convert */
	bool keeps_profile;   /* if it turns out to be good */
};

/* One term of a step's CPU time. */
struct estimate_term {
	const char *name;
	double ns; /* time for one; estimate.c says how it was measured */
};

enum { ESTIMATE_TERMS_MAX = 48 }; /* of one step of one format */

struct step_estimate {
	const char *name;
	const struct estimate_term *terms;
	uint32_t term_count;
	/*
	 * Sets the count of each term; `counts` is all zeros before the call.
	 */
	void (*count)(double *counts, const struct workload *w);
	/*
	 * The most memory that the step asks of struct memory, its input
	 * included.
	 */
	uint64_t (*bytes)(const struct workload *w);
};

/*
 * How many times as much work img_encode() is at most, because of a limit of
 * bytes, in encodes of the whole picture; max_bytes.c.
 */
double max_bytes_work(const struct image *scaled,
		      const struct img_transform *transform);

/*
 * auto_quality.c: what a search for a quality takes besides the memory to
 * encode once more (0: there is no search), and how long img_encode() takes if
 * it takes `encode_ns` without one.  `result` is a shape.
 */
uint64_t auto_quality_bytes(const struct image *result,
			    const struct img_transform *transform);
double auto_quality_ns(const struct image *result,
		       const struct img_transform *transform, double encode_ns);

/*
 * Samples to count for rows of `width` samples: a row takes as long as one of
 * `least` samples, however narrow it is, and rows are processed in groups.
 */
static inline double samples_in_groups(uint32_t width, uint32_t height,
				       uint32_t least, uint32_t group)
{
	double rows = (double)(((uint64_t)height + group - 1) / group * group);

	return rows * (width > least ? width : least);
}

extern const struct step_estimate scale_estimate; /* input not included */
extern const struct step_estimate blur_estimate;  /* and sharpen */
extern const struct step_estimate pad_estimate;
extern const struct step_estimate watermark_estimate;
/* Of one search; input not included. */
extern const struct step_estimate trim_estimate;

/*
 * workload_set_decoded() fills a workload, whose header is set, for a file
 * decoded at `scale`; it may set a larger w->scale.  After that,
 * workload_set_result() fills it for one result at a time.
 */
void workload_set_decoded(struct workload *w, uint32_t scale);
void workload_set_result(struct workload *w, const struct img_view *view,
			 const struct img_transform *transform);

#endif

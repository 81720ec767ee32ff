/* SPDX-License-Identifier: MIT */
#include "loadgen/promise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_PX_MAX 65500.0 /* of a JPEG, as libjpeg has it */

enum fit { FIT_INSIDE, FIT_COVER, FIT_FILL, FIT_COUNT };

static const char *const fit_names[FIT_COUNT] = {
	[FIT_INSIDE] = "inside",
	[FIT_COVER] = "cover",
	[FIT_FILL] = "fill",
};

/* Of the query; a side that is 0 is not given. */
struct wish {
	double width_px;
	double height_px;
	enum fit fit;
	bool enlarge;
	bool as_stored;
};

struct part {
	const char *text;
	size_t length;
};

static bool is(struct part part, const char *text)
{
	return part.length == strlen(text) &&
	       memcmp(part.text, text, part.length) == 0;
}

static bool read_side(struct part value, double *px)
{
	char *end;

	if (value.length == 0 || value.text[0] < '1' || value.text[0] > '9')
		return false;
	*px = (double)strtoul(value.text, &end, 10);
	return end == value.text + value.length;
}

static bool read_switch(struct part value, const char *on, bool *out)
{
	*out = is(value, on);
	return is(value, "0") || is(value, "1");
}

static bool read_fit(struct part value, enum fit *out)
{
	for (int i = 0; i < FIT_COUNT; i++)
		if (is(value, fit_names[i])) {
			*out = (enum fit)i;
			return true;
		}
	return false;
}

/* Results of several sizes promise none; other names do not change it. */
static bool read_parameter(struct part name, struct part value,
			   struct wish *wish)
{
	if (is(name, "w"))
		return read_side(value, &wish->width_px);
	if (is(name, "h"))
		return read_side(value, &wish->height_px);
	if (is(name, "fit"))
		return read_fit(value, &wish->fit);
	if (is(name, "enlarge"))
		return read_switch(value, "1", &wish->enlarge);
	if (is(name, "orient"))
		return read_switch(value, "0", &wish->as_stored);
	return !is(name, "variant");
}

static bool read_query(const char *target, struct wish *wish)
{
	const char *next = strchr(target, '?');

	while (next != NULL) {
		const char *text = next + 1;
		size_t length = strcspn(text, "&#");
		size_t name = strcspn(text, "=&#");
		bool has_value = name < length;
		struct part value = { text + name + has_value,
				      length - name - has_value };

		if (!read_parameter((struct part){ text, name }, value, wish))
			return false;
		next = text[length] == '&' ? text + length : NULL;
	}
	return true;
}

/* All of the picture; a side that is not given is as long as can be. */
static double scale_inside(const struct wish *wish, double width_px,
			   double height_px)
{
	double box_width = wish->width_px > 0 ? wish->width_px : SIDE_PX_MAX;
	double box_height = wish->height_px > 0 ? wish->height_px : SIDE_PX_MAX;
	double scale = fmin(box_width / width_px, box_height / height_px);
	bool is_bounded = wish->width_px > 0 || wish->height_px > 0;

	return wish->enlarge && is_bounded ? scale : fmin(scale, 1);
}

static struct promise size_for(const struct wish *wish, double width_px,
			       double height_px)
{
	double x = wish->enlarge ? 1 : fmin(1, width_px / wish->width_px);
	double y = wish->enlarge ? 1 : fmin(1, height_px / wish->height_px);
	bool is_box = wish->width_px > 0 && wish->height_px > 0;
	double scale;

	if (is_box && wish->fit == FIT_COVER)
		x = y = fmin(x, y);
	if (is_box && wish->fit != FIT_INSIDE)
		return (struct promise){ wish->width_px * x,
					 wish->height_px * y };
	scale = scale_inside(wish, width_px, height_px);
	return (struct promise){ width_px * scale, height_px * scale };
}

bool promise_find(struct promise *out, const char *target,
		  const struct jpeg_header *upload)
{
	struct wish wish = { 0 };
	double width_px = upload->width_px;
	double height_px = upload->height_px;

	if (!read_query(target, &wish))
		return false;
	if (upload->orientation >= 5 && !wish.as_stored) { /* on its side */
		width_px = upload->height_px;
		height_px = upload->width_px;
	}
	*out = size_for(&wish, width_px, height_px);
	return true;
}

static bool is_near(double promised_px, int px)
{
	double nearest_px = fmax(1, floor(promised_px + 0.5));

	return fabs(px - nearest_px) <= 1;
}

bool promise_is_kept(const struct promise *p, int width_px, int height_px)
{
	return is_near(p->width_px, width_px) &&
	       is_near(p->height_px, height_px);
}

/* SPDX-License-Identifier: MIT */
#include "datasets/hunt.h"

#include <math.h>

double hunt_next(struct hunt *h, double x, double y)
{
	double step = h->last_x > 0 ? log(x / h->last_x) : 0;
	double next;

	if (y < h->wanted)
		h->low = fmax(h->low, x);
	else
		h->high = h->high == 0 ? x : fmin(h->high, x);
	if (fabs(step) > 0.01)
		h->power = fmin(2, fmax(0.2, log(y / h->last_y) / step));
	h->last_x = x;
	h->last_y = y;
	next = x * pow(h->wanted / y, 1 / h->power);
	if (next > h->low && (h->high == 0 || next < h->high))
		return next;
	return h->high == 0 ? h->low * 1.5 : sqrt(fmax(h->low, 1) * h->high);
}

void hunt_restart(struct hunt *h)
{
	h->low = h->high = h->last_x = h->last_y = 0;
}

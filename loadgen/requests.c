/* SPDX-License-Identifier: MIT */
#include "loadgen/requests.h"

bool requests_begin(struct requests *r)
{
	r->count = 0;
	return order_init(&r->order, r->dataset->count, r->passes, r->seed);
}

bool requests_next(struct requests *r, struct request *request)
{
	const struct dataset_file *file;
	uint32_t param = 0;
	uint32_t index;

	if (!order_next(&r->order, &index))
		return false;
	if (r->params->count > 0)
		param = params_draw(r->params, r->seed, r->count);
	r->count++;
	file = &r->dataset->files[index];
	*request = (struct request){
		.file = index,
		.file_bytes = file->size_bytes,
		.target = targets_find(r->targets, index, param),
		.content_type = r->dataset->content_type,
		.fields = r->fields,
		.body = file->body,
		.body_bytes = file->body_bytes,
	};
	return true;
}

void requests_end(struct requests *r)
{
	order_release(&r->order);
}

# Adds the parameters of a later release to params.c: see test_ids.c.
/^const struct param params_table/a\
	{ "later", "Later", SWITCH(transform.later, zero_one),\
	  .default_text = "0", .help = "of a later release", .since = 2 },\
	{ "later_upload", "Later", SWITCH(wants.later_upload, zero_one),\
	  .default_text = "0", .help = "of a later release",\
	  .is_of_upload = true, .since = 3 },

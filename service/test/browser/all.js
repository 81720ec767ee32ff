// SPDX-License-Identifier: MIT
// All tests of the page, in one process, so that they share a Chromium.
//
// usage: DARKROOM=PROGRAM LOADGEN=PROGRAM SAMPLES=DIR node all.js

import "./test_page.js";
import "./test_graph.js";
import "./test_blocking.js";
import "./test_cores.js";
import "./test_form.js";
import "./test_try.js";
import "./test_cross_site.js";
import "./test_cors.js";
import "./test_widgets.js";
import "./test_tickets.js";
import "./test_resume.js";
import "./test_report.js";

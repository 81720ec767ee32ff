// SPDX-License-Identifier: MIT
// The view Cores: what each worker does, as a moving timeline.
//
//	frames --> lanes_view.js: spans.js --> marks.js --> lanes.js: canvas
//	frames --> lanes_table.js: the same in words

import { makeControls } from "./cores_controls.js";
import { element, setText } from "./dom.js";
import { LanesTable } from "./lanes_table.js";
import { LanesView } from "./lanes_view.js";
import { scroller } from "./scroller.js";
import { ThreadsTable } from "./threads.js";

const NO_WORKERS = {
	"thread-per-connection": "There are no workers: with " +
		"thread-per-connection, each connection has a thread that runs " +
		"all steps of its uploads, and the system chooses which thread " +
		"runs.",
	servlib: "There are no workers: with servlib, each connection has a " +
		"thread that runs all steps of its uploads.",
};

// The threads of the store stage are no workers of the schedule.
const hasWorkers = ({ workers }) =>
	workers.some(({ lane }) => lane === "workers");

export function make(root) {
	const view = new LanesView();
	const controls = makeControls(view);
	const table = new LanesTable();
	const threads = new ThreadsTable();
	const nobody = element("p", { hidden: "" });
	const shown = element("div", { hidden: "" }, ...controls.elements,
		element("div", { id: "lanes-text" },
			scroller("Workers", "table", table.element).all));

	view.onDraw = controls.show;
	root.append(nobody, threads.element, shown);
	new ResizeObserver(() => view.refit()).observe(shown);

	return {
		hello(message) {
			nobody.hidden = hasWorkers(message);
			setText(nobody, NO_WORKERS[message.policy] ?? "");
			shown.hidden = message.workers.length === 0;
			threads.hello();
			controls.setStages(message.stages);
			table.set(message.workers, message.stages);
			view.hello(message);
		},
		frame(message) {
			threads.frame(message);
			if (message.workers.length === 0)
				return;
			table.add(message);
			view.frame(message);
			controls.frame(message);
		},
		shown(isShown) {
			view.isShown = isShown;
			view.refit();
		},
	};
}

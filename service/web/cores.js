// SPDX-License-Identifier: MIT
// The view Cores: what each worker does, as a moving timeline.
//
//	frames --> lanes_view.js: spans.js --> marks.js --> lanes.js: canvas
//	frames --> lanes_table.js: the same in words

import { makeControls } from "./cores_controls.js";
import { element } from "./dom.js";
import { LanesTable } from "./lanes_table.js";
import { LanesView } from "./lanes_view.js";
import { scroller } from "./scroller.js";

const NO_WORKERS = "There are no workers: with thread-per-connection, each " +
	"connection has a thread that runs all steps of its uploads, and the " +
	"system chooses which thread runs.";

export function make(root) {
	const view = new LanesView();
	const controls = makeControls(view);
	const table = new LanesTable();
	const nobody =
		element("p", { hidden: "" }, NO_WORKERS);
	const shown = element("div", { hidden: "" }, ...controls.elements,
		element("div", { id: "lanes-text" },
			scroller("Workers", "table", table.element).all));

	view.onDraw = controls.show;
	root.append(nobody, shown);
	new ResizeObserver(() => view.refit()).observe(shown);

	return {
		hello(message) {
			nobody.hidden = message.workers.length > 0;
			shown.hidden = !nobody.hidden;
			controls.setStages(message.stages);
			table.set(message.workers, message.stages);
			view.hello(message);
		},
		frame(message) {
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

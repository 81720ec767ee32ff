// SPDX-License-Identifier: MIT
// The view Graph: the stages of the server, as a picture, a table and text.
//
//	hello --> graph_plan.js --> graph_layout.js (by graph_picture.js),
//	                            graph_table.js, graph_words.js
//	frames of 5 s --> graph_model.js --> graph_strip.js,
//	                            graph_picture.js, graph_table.js
//	a minute --> graph_history.js --> graph_strip.js
//
// If threads of uploads have a blocking graph, blocking.js shows it below.
//
// A hidden view draws nothing.

import { blocking } from "./blocking.js";
import { element, setText, svgElement } from "./dom.js";
import { History } from "./graph_history.js";
import { picture, remember, summary } from "./graph_model.js";
import { draw } from "./graph_picture.js";
import { plan } from "./graph_plan.js";
import { strip } from "./graph_strip.js";
import { scroller } from "./scroller.js";
import { tabulate } from "./graph_table.js";
import { legend, words } from "./graph_words.js";

// Radio buttons, one of them checked.
function makeChoice(title, name, choices, onChange) {
	const labels = choices.map(([value, word], i) => {
		const input = element("input", { type: "radio", name, value });

		input.checked = i === 0;
		input.onchange = () => onChange(value);
		return element("label", {}, input, word);
	});

	return element("fieldset", { class: "choice" },
		element("legend", {}, title), ...labels);
}

function makeSkeleton(root, onSpan, onReplicas) {
	const made = {
		strip: element("dl", { class: "strip" }),
		meaning: element("p", { class: "meaning quiet" }),
		svg: svgElement("svg", { id: "graph-picture",
			class: "diagram", role: "img",
			"aria-label": "The stages and the events that wait before " +
				"them; the table below has the figures" }),
		legend: element("ul", { class: "legend quiet" }),
		table: element("table", { id: "figures",
			"aria-describedby": "figures-told" }),
		told: element("p", { id: "figures-told", class: "quiet" }),
		blocking: blocking(),
		words: element("div", { id: "words" }),
		schedule: element("p", { class: "schedule quiet" }),
		replicas: makeChoice("Parts", "replicas",
			[["summed", "summed"], ["apart", "apart"]], onReplicas),
	};

	const wide = scroller("Stages", "picture", made.svg);
	made.picture = wide.box;
	const span = makeChoice("Figures", "span",
		[["recent", "last 5 s"], ["total", "since start"]], onSpan);

	made.all = element("div", {}, made.strip, made.meaning,
		element("div", { class: "controls" },
			span, made.replicas, made.schedule),
		wide.all, made.legend,
		element("h2", {}, "Figures"),
		scroller("Figures", "table", made.table).all, made.told,
		made.blocking.element,
		element("h2", {}, "How it is scheduled"), made.words);
	made.all.hidden = true;
	root.append(made.all);
	return made;
}

// The parts that do not change until the next hello.
function tell(parts, hello) {
	words(parts.words, hello);
	setText(parts.schedule, hello.words
		.map((word) => `${word.flag} ${word.value}`)
		.join(" · "));
	parts.replicas.hidden = hello.parts < 2;
	parts.all.hidden = false;
}

// Shows the figures of a plan, in a picture of this width and in the table.
function showPlan(parts, hello, planned, width) {
	const showPicture = draw(parts.svg, planned, width);
	const showTable = tabulate(parts.table, parts.told, hello, planned);

	legend(parts.legend, hello, planned);
	return (frames, span) => {
		showPicture(picture(planned, frames, span));
		showTable(frames, span);
	};
}

export function make(root) {
	let isShown = false;
	let hello = null;
	let frames = [];
	let span = "recent";
	let isApart = false;
	let width = 0; // that the picture was drawn for
	let stageParts; // of partitions, as drawn
	let showFigures = null; // in what was drawn
	const parts = makeSkeleton(root, (value) => {
		span = value;
		show();
	}, (value) => {
		isApart = value === "apart";
		redraw();
	});
	const showStrip = strip(parts.strip, parts.meaning);
	const history = new History();

	function redraw() {
		width = parts.picture.clientWidth;
		if (hello === null || width === 0)
			return;
		stageParts = frames.at(-1)?.stage_parts;
		const canPart = hello.parts > 1 && (stageParts !== undefined ||
			hello.balance === "replicate");
		showFigures = showPlan(parts, hello,
			plan(hello, isApart && canPart, stageParts), width);
		show();
	}

	function show() {
		if (!isShown || showFigures === null || frames.length === 0)
			return;
		// Stages may have moved to other partitions.
		if (String(stageParts) !== String(frames.at(-1).stage_parts))
			return redraw();
		showStrip(summary(hello, frames), history);
		showFigures(frames, span);
	}

	new ResizeObserver(() => {
		if (parts.picture.clientWidth !== width)
			redraw();
	}).observe(parts.picture);
	document.addEventListener("visibilitychange", show);

	return {
		hello(message) {
			hello = message;
			frames = [];
			history.begin(message.history);
			showFigures = null; // may be of another server
			tell(parts, hello);
			parts.blocking.hello(hello);
			redraw();
		},
		frame(message) {
			frames = remember(frames, message);
			history.add(message.history);
			if (!document.hidden)
				show();
		},
		shown(value) {
			isShown = value;
			parts.blocking.shown(value);
			show();
		},
	};
}

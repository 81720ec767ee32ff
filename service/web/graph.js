// SPDX-License-Identifier: MIT
// The view Graph: the server as its stages, drawn and told.
//
//	hello --> graph_plan.js --> graph_layout.js (by graph_picture.js),
//	                            graph_table.js, graph_words.js
//	frames of 5 s --> graph_model.js --> graph_strip.js,
//	                            graph_picture.js, graph_table.js
//
// Nothing is drawn while nobody can see it.

import { element, setText, svgElement } from "./dom.js";
import { picture, remember, summary } from "./graph_model.js";
import { draw } from "./graph_picture.js";
import { plan } from "./graph_plan.js";
import { strip } from "./graph_strip.js";
import { tabulate } from "./graph_table.js";
import { legend, words } from "./graph_words.js";

// A choice of two or more, of which one is checked.
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
		svg: svgElement("svg", { id: "graph-picture", role: "img",
			"aria-label": "The stages and what waits before " +
				"them; the table below has its figures" }),
		legend: element("ul", { class: "legend quiet" }),
		table: element("table", { id: "figures" }),
		words: element("div", { id: "words" }),
		schedule: element("p", { class: "schedule quiet" }),
		replicas: makeChoice("Parts", "replicas",
			[["summed", "summed"], ["apart", "apart"]], onReplicas),
	};

	made.picture = element("div", { class: "scrolls" }, made.svg);
	const span = makeChoice("Figures", "span",
		[["recent", "last 5 s"], ["total", "since start"]], onSpan);

	made.all = element("div", {}, made.strip,
		element("div", { class: "controls" },
			span, made.replicas, made.schedule),
		made.picture, made.legend,
		element("h2", {}, "Figures"),
		element("div", { class: "scrolls", tabindex: 0, role: "region",
			"aria-label": "Figures" }, made.table),
		element("h2", {}, "How it is scheduled"), made.words);
	made.all.hidden = true;
	root.append(made.all);
	return made;
}

// What does not change until the next hello.
function tell(parts, hello) {
	words(parts.words, hello);
	setText(parts.schedule, hello.words
		.map((word) => `${word.flag} ${word.value}`)
		.join(" · "));
	parts.replicas.hidden = hello.parts < 2;
	parts.all.hidden = false;
}

// What shows figures of a plan, in a picture of this width and in the table.
function showPlan(parts, hello, planned, width) {
	const showPicture = draw(parts.svg, planned, width);
	const showTable = tabulate(parts.table, hello, planned);

	legend(parts.legend, hello, planned);
	// So that a keyboard can scroll it, too.
	parts.picture.tabIndex = parts.picture.scrollWidth > width ? 0 : -1;
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
	const showStrip = strip(parts.strip);

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
		// Stages may go to other partitions.
		if (String(stageParts) !== String(frames.at(-1).stage_parts))
			return redraw();
		showStrip(summary(hello, frames));
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
			showFigures = null; // may be of another server
			tell(parts, hello);
			redraw();
		},
		frame(message) {
			frames = remember(frames, message);
			if (!document.hidden)
				show();
		},
		shown(value) {
			isShown = value;
			show();
		},
	};
}

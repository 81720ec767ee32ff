// SPDX-License-Identifier: MIT
// Controls of the timeline (buttons, keys, pointer) and the text around it:
// legend, the visit under the pointer, a link to save a trace.

import { element, setAttribute, setText } from "./dom.js";
import { formatCount, formatMilliseconds } from "./figures.js";
import { key } from "./key.js";
import { stageColour } from "./stages.js";

const HEIGHTS = "The height of a visit shows how many events it handled. A pale " +
	"column: visits filled only a part of its time.";
const HINT = "Space pauses, + and - zoom, left and right arrows move the view, " +
	"up and down arrows choose a worker; with Shift, left and right go " +
	"from visit to visit. While the view is paused, dragging moves it. " +
	"With Ctrl, the wheel zooms.";
const ZOOM_PX = 40; // of a wheel: less than a notch, more than a tremor
const LINE_PX = 33;

function makeLegend() {
	const stages = element("span", { class: "stages" });
	const entry = (kind, text) => element("span", {},
		element("span", { class: `patch ${kind}` }), text);
	const legend = element("p", { class: "legend" }, stages,
		entry("sleep", "asleep"),
		entry("empty", "empty visit: no event was left"),
		entry("under-way", "visit that has not ended yet"),
		entry("hole", "unknown: too many visits, or nobody watched"),
		element("span", { class: "quiet" }, HEIGHTS));

	return {
		legend,
		setStages: (names) => stages.replaceChildren(...names.map(
			(name) => {
				const patch =
					element("span", { class: "patch" });

				patch.style.setProperty("--colour",
					`var(${stageColour(name)})`);
				return element("span", {}, patch, name);
			})),
	};
}

// A link that saves the visible span.  A link cannot send a key, so with a key
// it uses fetch().
function makeTraceLink(view) {
	const link = element("a", {
		id: "trace-link",
		href: "trace",
		download: "darkroom-trace.json",
	}, "Save this span as a trace");
	const failure = element("span", { role: "alert" });
	const update = () => {
		const ms = Math.ceil(view.span_us / 1000);
		const until_us = Math.round(view.until_us);

		setAttribute(link, "href",
			`trace?ms=${ms}&until_us=${until_us}`);
	};

	link.onclick = async (event) => {
		failure.textContent = "";
		update();
		if (!key.value)
			return;
		event.preventDefault();
		const reply = await key.fetch(link.href).catch(() => null);
		if (!reply?.ok) {
			failure.textContent = reply
				? `Refused: ${reply.status}.` : "No answer.";
			return;
		}
		const url = URL.createObjectURL(await reply.blob());
		element("a", { href: url, download: link.download }).click();
		URL.revokeObjectURL(url);
	};
	return {
		update,
		line: element("p", {}, link, element("span", { class: "quiet" },
			", and open it at ui.perfetto.dev. "), failure),
	};
}

function listenToKeys(view) {
	const quarter_us = () => view.span_us / 4;
	const actions = {
		" ": () => view.pause(!view.isPaused),
		"+": () => view.zoom(-1),
		"=": () => view.zoom(-1),
		"-": () => view.zoom(1),
		ArrowLeft: () => view.pan(-quarter_us()),
		ArrowRight: () => view.pan(quarter_us()),
		ArrowUp: () => view.stepLane(-1),
		ArrowDown: () => view.stepLane(1),
		Escape: () => view.choose(null),
	};
	const withShift = {
		...actions,
		ArrowLeft: () => view.stepSpan(-1),
		ArrowRight: () => view.stepSpan(1),
	};

	view.canvas.onkeydown = (event) => {
		const action =
			(event.shiftKey ? withShift : actions)[event.key];

		if (!action || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		action();
	};
}

function listenToPointer(view) {
	const { canvas } = view;
	let grip_us = null; // the time that is dragged

	canvas.onpointerdown = (event) => {
		view.chooseAt(event.offsetX, event.offsetY);
		if (event.button !== 0)
			return;
		grip_us = view.timeAt(event.offsetX);
		canvas.setPointerCapture(event.pointerId);
	};
	canvas.onpointermove = (event) => {
		if (grip_us === null || !view.isPaused)
			view.chooseAt(event.offsetX, event.offsetY);
		else
			view.pan(grip_us - view.timeAt(event.offsetX));
	};
	canvas.onpointerup = canvas.onpointercancel = () => {
		grip_us = null;
	};
	// A finger that lifts "leaves"; the text must stay readable then.
	canvas.onpointerleave = ({ pointerType }) => {
		if (pointerType === "mouse")
			view.choose(null);
	};
}

// One notch of a wheel is one step; a pinch sends many events of some pixels.
function listenToWheel(view) {
	let gathered_px = 0;

	view.canvas.addEventListener("wheel", (event) => {
		if (!event.ctrlKey)
			return;
		event.preventDefault(); // the page's own zoom
		const px = event.deltaY *
			(event.deltaMode === WheelEvent.DOM_DELTA_LINE
				? LINE_PX : 1);

		gathered_px = px * gathered_px < 0 ? px : gathered_px + px;
		if (Math.abs(gathered_px) < ZOOM_PX)
			return;
		gathered_px = 0;
		view.zoom(Math.sign(px), view.timeAt(event.offsetX));
	}, { passive: false });
}

// The text about the chosen span, beside it.
function makeVisit(view) {
	const visit = element("div",
		{ id: "visit", role: "status", hidden: "" });

	return {
		visit,
		show() {
			const { words } = view;

			visit.hidden = words === null;
			if (words === null)
				return;
			setText(visit, words);
			const { x, y } = view.placeOfChosen;
			const room =
				view.canvas.clientWidth - visit.offsetWidth;
			const left = Math.max(Math.min(x, room), 0);

			visit.style.left = `${left}px`;
			visit.style.top = `${y}px`;
		},
	};
}

function makeButton(id, text, attributes, act) {
	const button =
		element("button", { id, type: "button", ...attributes }, text);

	button.onclick = act;
	return button;
}

export function makeControls(view) {
	const pause = makeButton("pause", "Pause", { "aria-pressed": "false" },
		() => view.pause(!view.isPaused));
	const zoomOut = makeButton("zoom-out", "\u2212",
		{ "aria-label": "Zoom out" }, () => view.zoom(1));
	const zoomIn = makeButton("zoom-in", "+",
		{ "aria-label": "Zoom in" }, () => view.zoom(-1));
	const span = element("output", { id: "span" });
	const missed = element("span", { class: "quiet" });
	const trace = makeTraceLink(view);
	const { legend, setStages } = makeLegend();
	const { visit, show: showVisit } = makeVisit(view);
	const hint = element("p", { id: "lanes-hint", class: "quiet" }, HINT);

	listenToKeys(view);
	listenToPointer(view);
	listenToWheel(view);
	return {
		elements: [
			element("div", { class: "controls" },
				pause, zoomOut, span, zoomIn, missed),
			element("div", { class: "timeline" },
				view.canvas, visit),
			legend, trace.line, hint,
		],
		setStages,
		frame(message) {
			const count = formatCount(message.missed);

			missed.textContent = message.missed === 0
				? "" : `${count} visits and sleeps are missing`;
			trace.update();
		},
		show() {
			setAttribute(pause, "aria-pressed", view.isPaused);
			setText(span, formatMilliseconds(view.span_us / 1000));
			showVisit();
			if (view.isPaused)
				trace.update();
		},
	};
}

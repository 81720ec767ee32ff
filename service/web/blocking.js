// SPDX-License-Identifier: MIT
// The blocking graph of a policy of user-level threads, a part of the view
// Graph: a picture, a table of its nodes, and the resources.
//
//	the server's hello says that there is a graph
//	--> GET v1/blocking-graph, once a second
//	--> blocking_model.js --> blocking_picture.js, the tables
//
// The page sends no requests for it while it is hidden.

import { draw, formatTaken } from "./blocking_picture.js";
import { figuresOf, planOf, remember, shapeOf } from "./blocking_model.js";
import { element, setText, svgElement } from "./dom.js";
import { formatBytes, formatCount, formatMilliseconds, formatRate }
	from "./figures.js";
import { key } from "./key.js";
import { scroller } from "./scroller.js";

const INTERVAL_MS = 1000;

const EXPLAINED = "Each upload has a thread of its own on the server, which " +
	"lets others run only at blocking points. A box is such a point: a " +
	"place in the program, together with the points before it. Nothing " +
	"about stages was told: the graph, and what a thread uses from one " +
	"point to the next, is learned while uploads run. The squares are " +
	"threads that stand there: ready, or waiting for something else. A " +
	"box is filled by its part of the CPU time of the last 5 s, and its " +
	"figures are means in which the newest count most. Threads at a point " +
	"with more tickets run more often.";

const columns = [
	["at", "place", String],
	["previous", "after", String],
	["ready", "ready", formatCount],
	["waiting", "waiting", formatCount],
	["visits", "visits", formatCount],
	["per_s", "visits/s", formatRate],
	["cpu_us_mean", "CPU, mean", (us) => formatMilliseconds(us / 1e3)],
	["cpu_us_recent", "CPU, lately", (us) => formatMilliseconds(us / 1e3)],
	["memory_bytes_recent", "memory", formatTaken],
	["files_recent", "files", (files) => files.toFixed(2)],
	["tickets", "tickets", formatCount],
];

// Of resources; in the figures of the server, CPU time is in us per second.
const amounts = {
	memory: formatBytes,
	cpu: (us) => us === null ? "–" : `${(us / 1e6).toFixed(2)} cores`,
};

function headRow(...words) {
	return element("thead", {}, element("tr", {}, ...words.map((word) =>
		element("th", { scope: "col" }, word))));
}

// Fills the table; returns a function that shows the figures of the nodes.
function tabulate(table, graph, plan) {
	const nameOf = (id) => plan.nodes[graph.nodes.findIndex(
		(node) => node.id === id)]?.name ?? "the start";
	const rows = plan.nodes.map(({ name, at }, i) => {
		const cells = columns.map(([figure]) =>
			element("td", { "data-figure": figure }));
		const fixed = { at, previous: nameOf(graph.nodes[i].previous) };

		return {
			row: element("tr", { "data-node": graph.nodes[i].id },
				element("th", { scope: "row" }, name), ...cells),
			set: (figures) => columns.forEach(
				([figure, , format], k) => setText(cells[k], format(
					fixed[figure] ?? figures[figure]))),
		};
	});

	table.replaceChildren(
		headRow("blocking point", ...columns.map(([, word]) => word)),
		element("tbody", {}, ...rows.map(({ row }) => row)));
	return (figures) => rows.forEach(({ set }, i) => set(figures[i]));
}

function showResources(table, resources) {
	const cells = ({ name, used, limit, capacity }) =>
		[used, limit, capacity].map((amount) =>
			element("td", {}, (amounts[name] ?? formatCount)(amount)));

	table.replaceChildren(headRow("resource", "used", "limit", "capacity"),
		element("tbody", {}, ...resources.map((resource) =>
			element("tr", { "data-resource": resource.name },
				element("th", { scope: "row" }, resource.name),
				...cells(resource)))));
}

function makeSkeleton() {
	const made = {
		svg: svgElement("svg", { id: "blocking-picture",
			class: "diagram", role: "img",
			"aria-label": "The points where threads of uploads " +
				"block; the table below has the figures" }),
		nodes: element("table", { id: "blocking-points" }),
		resources: element("table", { id: "resources" }),
	};
	const wide = scroller("Blocking graph", "picture", made.svg);

	made.picture = wide.box;
	made.all = element("section", { id: "blocking", hidden: "",
		"aria-label": "Blocking graph" },
	element("h2", {}, "Blocking graph"),
	element("p", { class: "quiet" }, EXPLAINED), wide.all,
	scroller("Blocking points", "table", made.nodes).all,
	element("p", { class: "quiet" }, "As the use of a resource comes near " +
		"to its limit, points whose threads take more of it get fewer " +
		"tickets, and points whose threads give some back get more. The " +
		"limit is learned; it is at most the capacity."),
	scroller("Resources", "table", made.resources).all);
	return made;
}

async function read() {
	const reply = await key.fetch("v1/blocking-graph",
		{ cache: "no-store" });

	return reply.ok ? reply.json() : null;
}

export function blocking() {
	const parts = makeSkeleton();
	let has = false;
	let isShown = false;
	let timer; // undefined: no reading is under way or planned
	let readings = [];
	let drawn = ""; // the shape and the width
	let showFigures;

	function redraw(graph) {
		const width = parts.picture.clientWidth;
		const wanted = `${width} ${shapeOf(graph)}`;

		if (width === 0 || drawn === wanted)
			return;
		drawn = wanted;
		const plan = planOf(graph);
		const showPicture = draw(parts.svg, plan, width);
		const showTable = tabulate(parts.nodes, graph, plan);
		showFigures = (figures) => {
			showPicture(figures);
			showTable(figures.nodes);
		};
	}

	function show() {
		const graph = readings.at(-1);

		if (graph === undefined || !has)
			return;
		parts.all.hidden = false;
		redraw(graph);
		showFigures?.(figuresOf(readings));
		showResources(parts.resources, graph.resources);
	}

	async function readAndShow() {
		const graph = await read().catch(() => null);

		if (graph !== null && has) {
			readings = remember(readings, graph);
			show();
		}
		timer = undefined;
		plan();
	}

	function plan() {
		if (timer === undefined && has && isShown && !document.hidden)
			timer = setTimeout(readAndShow,
				readings.length > 0 ? INTERVAL_MS : 0);
	}

	new ResizeObserver(show).observe(parts.picture);
	document.addEventListener("visibilitychange", plan);
	return {
		element: parts.all,
		hello(message) {
			has = message.blocking_graph === true;
			readings = [];
			drawn = "";
			parts.all.hidden = true;
			plan();
		},
		shown(value) {
			isShown = value;
			show();
			plan();
		},
	};
}

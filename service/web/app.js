// SPDX-License-Identifier: MIT
// The page: three views in tabs.  Two of them show the events of live.js.
//
//	live.js --hello, frame--> app.js --> graph.js, cores.js
//	                                     try.js sends its own uploads

import * as cores from "./cores.js";
import { element, setText } from "./dom.js";
import * as graph from "./graph.js";
import { key } from "./key.js";
import { live } from "./live.js";
import { liveViews } from "./ports.js";
import * as trying from "./try.js";

const states = {
	live: "Live",
	lost: "No connection to the server. Trying again",
	full: "Too many viewers. Trying again",
	locked: "The server requires an API key",
};

const views = {
	graph: graph.make(document.getElementById("graph")),
	cores: cores.make(document.getElementById("cores")),
	try: trying.make(document.getElementById("try")),
};
const names = Object.keys(views);

function setState(state) {
	document.body.dataset.state = state === "full" ? "lost" : state;
	setText(document.getElementById("state"), states[state]);
}

// The live views are on another port, at this URL; null: the server says why
// there is no link.
function tellElsewhere(url, why) {
	const words = (what, hash) => url === null ? [why] : [
		`${what} on the server's admin port: `,
		element("a", { href: `${url}/${hash}` }, url),
	];

	document.body.dataset.state = "elsewhere";
	document.getElementById("state")
		.replaceChildren(...words("The live views are", ""));
	for (const name of ["graph", "cores"])
		document.getElementById(name).replaceChildren(
			element("p", {}, ...words("This view is", `#${name}`)));
	if (location.hash === "")
		show("try");
}

// One view.  Hidden views do not draw.
function show(name) {
	for (const other of names) {
		const tab = document.getElementById(`tab-${other}`);
		const isShown = other === name;

		tab.setAttribute("aria-selected", isShown);
		tab.tabIndex = isShown ? 0 : -1;
		document.getElementById(other).hidden = !isShown;
		views[other].shown?.(isShown);
	}
}

function showByAddress() {
	const name = location.hash.slice(1);

	show(names.includes(name) ? name : names[0]);
}

// Arrow keys move between tabs, as in every list of tabs:
// https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
function onKey(event) {
	const at = names.indexOf(event.target.id.replace("tab-", ""));
	const to = {
		ArrowLeft: at + names.length - 1,
		ArrowRight: at + 1,
		Home: 0,
		End: names.length - 1,
	}[event.key];

	if (to === undefined)
		return;
	event.preventDefault();
	const name = names[to % names.length];
	location.hash = name;
	document.getElementById(`tab-${name}`).focus();
}

for (const name of names)
	document.getElementById(`tab-${name}`).onclick = () => {
		location.hash = name;
	};
document.querySelector("[role=tablist]").onkeydown = onKey;
window.onhashchange = showByAddress;
showByAddress();

let last = null;

const elsewhere = await liveViews;

if (elsewhere !== null)
	tellElsewhere(elsewhere);
else live({
	state: setState,
	elsewhere: (why) => tellElsewhere(null, why),
	hello(message) {
		last = null;
		document.getElementById("version").textContent = message.version;
		for (const view of Object.values(views))
			view.hello?.(message);
		setState("live");
	},
	frame(message) {
		for (const view of Object.values(views))
			view.frame?.(message, last);
		last = message;
	},
}, key);

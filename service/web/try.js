// SPDX-License-Identifier: MIT
// Try it: a photo is sent with what the form says, whenever either changes.
//
//	choose, drop, paste, test picture --photo-.
//	form --recipe.js--> query and curl line --+--> upload.js
//	      result, metrics, or a problem <----------'
//	      '--> comparison.js, timeline.js

import * as comparison from "./comparison.js";
import { byId, element } from "./dom.js";
import { formatBytes, formatMilliseconds } from "./figures.js";
import { key } from "./key.js";
import { blurProblem, curlLine, query, resultName } from "./recipe.js";
import { pastedPicture, testPicture } from "./sample.js";
import { timeline } from "./server_timing.js";
import { draw } from "./timeline.js";
import { upload } from "./upload.js";

const SETTLE_MS = 300; // after the last change, before it is sent

let photo = null;
let sending = new AbortController();
let settling;

function numberOf(id) {
	const number = byId(id).valueAsNumber;

	return Number.isNaN(number) ? null : number;
}

function recipe() {
	return {
		w: numberOf("width"),
		h: numberOf("height"),
		fit: byId("fit").value,
		blur: numberOf("blur"),
		q: numberOf("quality"),
	};
}

function tell(text) {
	byId("sending").textContent = text;
}

function tellProblem({ status, title, detail, retry_s, code }) {
	const lines = [
		["strong", [status, title].join(" ").trim()],
		["span", detail],
		["span", retry_s && `Try again in ${retry_s} s.`],
		["code", code],
	];

	byId("problem").replaceChildren(...lines
		.filter(([, text]) => text)
		.map(([tag, text]) => element(tag, {}, text)));
}

function tellWarnings(texts) {
	byId("warnings").replaceChildren(
		...texts.map((text) => element("li", {}, text)));
}

function tellCurl() {
	const url = new URL("./" + query(recipe()), location.href);

	url.hash = "";
	byId("curl").textContent = curlLine(url.href,
		photo?.name ?? "photo.jpg", key.value !== "");
	byId("copied").textContent = "";
}

// What is wrong with the form, "" if nothing is; the curl line if so.
function check() {
	const form = byId("recipe");

	form.querySelector("output").textContent = byId("quality").value;
	byId("blur").setCustomValidity(blurProblem(numberOf("blur")));
	const wrong = form.querySelector("input:invalid");
	if (wrong === null) {
		tellCurl();
		return "";
	}
	return `${wrong.labels[0].textContent}: ${wrong.validationMessage}`;
}

// Ends when all of it is to be seen.
async function tellOutcome({ result, problem, metrics, warnings, seen_ms }) {
	tellProblem(problem ?? {});
	byId("try").toggleAttribute("data-stale", problem !== undefined);
	if (problem !== undefined)
		return "Not done.";
	tellWarnings(warnings);
	draw(byId("timeline"), timeline(metrics), seen_ms);
	await comparison.show("result", result, resultName(photo.name));
	return `Done in ${formatMilliseconds(seen_ms)}.`;
}

// The photo, now; what is still under way is of no interest any more.
async function send() {
	clearTimeout(settling);
	sending.abort();
	sending = new AbortController();
	const { signal } = sending;
	const wrong = check();

	if (photo === null || wrong !== "") {
		tell(wrong || "No photo yet.");
		return;
	}
	tell(`Sending ${photo.name} (${formatBytes(photo.size)})…`);
	const outcome = await upload(photo, query(recipe()), signal);
	if (signal.aborted)
		return;
	const words = await tellOutcome(outcome);
	if (signal.aborted)
		return;
	tell(words);
	if (outcome.problem?.status === 401) {
		await key.next();
		if (!signal.aborted)
			send();
	}
}

function sendSoon() {
	clearTimeout(settling);
	settling = setTimeout(send, SETTLE_MS);
}

// isMade: by the browser, so that it is no file yet, which curl could send.
function choose(file, isMade) {
	if (!file)
		return;
	photo = file;
	byId("original-link").hidden = !isMade;
	byId("send").disabled = false;
	tellWarnings([]);
	byId("timeline").replaceChildren();
	comparison.forget("result");
	comparison.show("original", file, file.name);
	send();
}

// A file may be dropped anywhere: beside the zone it would replace the page.
function takeDrops(root) {
	const drop = byId("drop");
	const isFile = (event) => !root.hidden
		&& event.dataTransfer?.types.includes("Files");

	window.addEventListener("dragover", (event) => {
		if (!isFile(event))
			return;
		event.preventDefault();
		drop.toggleAttribute("data-over", true);
	});
	window.addEventListener("dragleave", (event) => {
		drop.toggleAttribute("data-over", event.relatedTarget !== null);
	});
	window.addEventListener("drop", (event) => {
		drop.removeAttribute("data-over");
		if (!isFile(event))
			return;
		event.preventDefault();
		choose(event.dataTransfer.files[0], false);
	});
}

function takePastes(root) {
	window.addEventListener("paste", async (event) => {
		const [file] = event.clipboardData?.files ?? [];

		if (root.hidden || file === undefined)
			return;
		event.preventDefault();
		choose(await pastedPicture(file), true);
	});
}

async function copy() {
	const curl = byId("curl");
	const isCopied = await navigator.clipboard?.writeText(curl.textContent)
		.then(() => true, () => false);

	if (!isCopied)
		getSelection().selectAllChildren(curl);
	byId("copied").textContent = isCopied
		? "Copied."
		: "Selected: copy it with the keyboard or the menu.";
}

export function make(root) {
	const input = byId("photo");
	const form = byId("recipe");

	form.noValidate = true; // send() tells what is wrong
	form.onsubmit = (event) => {
		event.preventDefault();
		send();
	};
	form.oninput = (event) => {
		if (event.target === input)
			return;
		check();
		sendSoon();
	};
	input.onclick = () => {
		input.value = ""; // the same file may be chosen again
	};
	input.onchange = () => choose(input.files[0], false);
	byId("sample").onclick = async () => choose(await testPicture(), true);
	byId("copy").onclick = copy;
	key.addEventListener("change", check);
	takeDrops(root);
	takePastes(root);
	comparison.make();
	check();
	return {};
}

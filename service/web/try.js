// SPDX-License-Identifier: MIT
// The view Try it: sends a photo with the values of the form, after each change of
// either.
//
//	choose, drop, paste, test picture --photo-----------.
//	form.js, variants.js --query.js--> query, programs --+--> upload.js
//	      results, metrics, or a problem <---------------'
//	      '--> results.js: comparison.js; timeline.js

import * as comparison from "./comparison.js";
import { fetchCode, pictureCode, pictureQuery, uppyCode } from "./code.js";
import { byId, element } from "./dom.js";
import { formatBytes, formatMilliseconds } from "./figures.js";
import { checkForm, makeForm, readForm } from "./form.js";
import { key } from "./key.js";
import { formats, parameters } from "./parameters.js";
import { uploads } from "./ports.js";
import { accept, curlLine, formatOf, isSeveral, query } from "./query.js";
import { forgetResults, showPlaceholder, showResults } from "./results.js";
import { pastedPicture, testPicture } from "./sample.js";
import { timeline } from "./server_timing.js";
import { draw } from "./timeline.js";
import { upload } from "./upload.js";
import { checkVariants, makeVariants, readVariants } from "./variants.js";

const SETTLE_MS = 300; // after the last change, before it is sent

let photo = null;
let base = "."; // of the URL that uploads are sent to
let types = []; // of results, that the browser says it can show
let lastResults = []; // with names and widths
let sending = new AbortController();
let settling;

function asked() {
	return { ...readForm(), variants: readVariants() };
}

function tell(text) {
	byId("sending").textContent = text;
}

function tellProblem({ status, title, detail, link, retry_s, code }) {
	const lines = [
		["strong", [status, title].join(" ").trim()],
		["span", detail],
		["a", link, { href: link }],
		["span", retry_s && `Try again in ${retry_s} s.`],
		["code", code],
	];

	byId("problem").replaceChildren(...lines
		.filter(([, text]) => text)
		.map(([tag, text, attributes]) =>
			element(tag, attributes, text)));
}

function tellWarnings(texts) {
	byId("warnings").replaceChildren(
		...texts.map((text) => element("li", {}, text)));
}

// The URL of this path on the server that uploads are sent to.
function urlOf(path) {
	const url = new URL(`${base}/${path}`, location.href);

	url.hash = "";
	return url.href;
}

// The program that is chosen, for what the form asks for.
function programText(all) {
	const said = query(all, parameters);
	const one = { asked: all, accept: accept(all, types),
		isKeyed: key.value !== "" };

	switch (document.querySelector("[name=program]:checked").value) {
	case "fetch":
		return fetchCode({ ...one, url: urlOf(said) });
	case "uppy":
		return uppyCode({ ...one, stored: urlOf(`v1/images${said}`) });
	case "picture":
		return pictureCode({ ...one, formats, results: lastResults,
			base: urlOf("").replace(/\/$/, ""),
			stored: urlOf(`v1/images${pictureQuery(said, all)}`) });
	default:
		return curlLine(urlOf(said), photo?.name ?? "photo.jpg", {
			...one,
			isSeveral: isSeveral(all),
			ending: formats.find(({ word }) =>
				word === formatOf(all))?.ending,
		});
	}
}

function tellProgram() {
	byId("curl").textContent = programText(asked());
	byId("copied").textContent = "";
}

// What is wrong with the form; "": nothing.  Then it also shows the program that
// does the same.
function check() {
	checkForm();
	checkVariants();
	const wrong = byId("form").querySelector("input:invalid");
	if (wrong === null) {
		tellProgram();
		return "";
	}
	return `${wrong.labels[0].textContent}: ${wrong.validationMessage}`;
}

// Resolves when everything is visible.
async function tellOutcome(outcome) {
	const { results, placeholder, problem, metrics, warnings, seen_ms } =
		outcome;

	tellProblem(problem ?? {});
	byId("try").toggleAttribute("data-stale", problem !== undefined);
	if (problem !== undefined)
		return "Not done.";
	tellWarnings(warnings);
	draw(byId("timeline"), timeline(metrics), seen_ms);
	lastResults = results.filter(({ name }) => name !== "");
	tellProgram();
	await showResults(results, photo.name);
	showPlaceholder(placeholder);
	return `Done in ${formatMilliseconds(seen_ms)}.`;
}

// Sends the photo now, and aborts an earlier upload that has not ended.
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
	const all = asked();
	const outcome = await upload(photo, {
		query: query(all, parameters),
		accept: accept(all, types),
		isSeveral: isSeveral(all),
	}, signal);
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

// isMade: made by the browser, so there is no file that curl could send.
function choose(file, isMade) {
	if (!file)
		return;
	photo = file;
	byId("original-link").hidden = !isMade;
	byId("send").disabled = false;
	tellWarnings([]);
	byId("timeline").replaceChildren();
	forgetResults();
	comparison.show("original", file, file.name);
	send();
}

// Shows this view, if another is shown.
function open(root) {
	if (root.hidden)
		location.hash = root.id;
}

// Accepts a file dropped anywhere, on any view; the browser would replace the
// page by it.
function takeDrops(root) {
	const drop = byId("drop");
	const isFile = (event) => event.dataTransfer?.types.includes("Files");

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
		open(root);
		choose(event.dataTransfer.files[0], false);
	});
}

function takePastes(root) {
	window.addEventListener("paste", async (event) => {
		const [file] = event.clipboardData?.files ?? [];

		if (file === undefined)
			return;
		event.preventDefault();
		open(root);
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

async function findTypes() {
	const all = formats.map(({ type }) => type);
	const answers = await Promise.all(all.map((type) =>
		globalThis.ImageDecoder?.isTypeSupported(type) ?? false));

	types = all.filter((_, i) => answers[i]);
	check();
}

export function make(root) {
	const input = byId("photo");
	const form = byId("form");

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
	input.accept = formats.map(({ type, ending }) => `${type},.${ending}`)
		.join();
	input.onclick = () => {
		input.value = ""; // the same file may be chosen again
	};
	input.onchange = () => choose(input.files[0], false);
	byId("sample").onclick = async () => choose(await testPicture(), true);
	byId("copy").onclick = copy;
	makeForm();
	makeVariants(() => {
		check();
		sendSoon();
	});
	byId("programs").onchange = tellProgram;
	key.addEventListener("change", check);
	uploads.then((url) => {
		base = url ?? ".";
		check();
	});
	takeDrops(root);
	takePastes(root);
	comparison.make();
	check();
	findTypes();
	return {};
}

// SPDX-License-Identifier: MIT
// A page of a browser: what a person does to it, and what it does.
//
// Keys and clicks are those of devices: what is hidden, covered or without
// focus does not get them.  What the page reports meanwhile is kept:
//
//	errors    messages to the console that are errors, and exceptions
//	requests  addresses it has asked for, but those of data: and blob:
//
// Waits are for slow and busy machines; they end as soon as they can.

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const WAIT_MS = 120000;
const POLL_MS = 30;

// Of keys that do not type a character.
const KEY_CODES = {
	ArrowDown: 40,
	ArrowLeft: 37,
	ArrowRight: 39,
	ArrowUp: 38,
	End: 35,
	Enter: 13,
	Home: 36,
	Tab: 9,
};

function textOf({ text, exception }) {
	return `${text} ${exception?.description ?? ""}`;
}

// What take() gives, as soon as that is something true.
export async function eventually(take, what) {
	const end = Date.now() + WAIT_MS;

	while (Date.now() < end) {
		const value = await take();
		if (value)
			return value;
		await sleep(POLL_MS);
	}
	throw new Error(`did not come true: ${what}`);
}

export class Page {
	errors = [];
	requests = [];
	#browser;
	#session;
	#target;
	#width; // of screen()
	#loaded = new Set(); // documents, by their loaders
	#replies = []; // of answer()

	constructor(browser, session, target) {
		this.#browser = browser;
		this.#session = session;
		this.#target = target;
	}

	command(method, params = {}) {
		return this.#browser.command(method, params, this.#session);
	}

	// Begins to collect what it reports.
	async prepare() {
		for (const part of ["Page", "Runtime", "Log", "Network", "DOM"])
			await this.command(`${part}.enable`);
		await this.command("Page.setLifecycleEventsEnabled",
			{ enabled: true });
		await this.screen(1280, 800);
	}

	async close() {
		await this.#browser.command("Target.closeTarget", {
			targetId: this.#target,
		});
	}

	// From the browser, for each event of this page.
	event({ method, params }) {
		if (method === "Runtime.exceptionThrown") {
			this.errors.push(textOf(params.exceptionDetails));
		} else if (method === "Runtime.consoleAPICalled") {
			if (["error", "assert"].includes(params.type))
				this.errors.push(params.args
					.map((a) => a.value ?? a.description)
					.join(" "));
		} else if (method === "Log.entryAdded") {
			const { level, text, url } = params.entry;
			if (level === "error")
				this.errors.push(`${text} ${url}`);
		} else if (method === "Network.requestWillBeSent") {
			if (!/^(data|blob):/.test(params.request.url))
				this.requests.push(params.request.url);
		} else if (method === "Page.lifecycleEvent") {
			if (params.name === "load")
				this.#loaded.add(params.loaderId);
		} else if (method === "Fetch.requestPaused") {
			this.#reply(params);
		}
	}

	// Shows url, as far as its load event.
	async go(url) {
		const reply = await this.command("Page.navigate", { url });

		if (reply.errorText)
			throw new Error(`${url}: ${reply.errorText}`);
		if (reply.loaderId)
			await eventually(() => this.#loaded.has(reply.loaderId),
				`${url} is loaded`);
	}

	// What the expression, or the function with these values, gives in the
	// page; of a promise its value.  Values go there and back as JSON.
	async evaluate(code, ...values) {
		const expression = typeof code === "string" ? code :
			`(${code})(...${JSON.stringify(values)})`;
		const { result, exceptionDetails } = await this.command(
			"Runtime.evaluate",
			{ expression, awaitPromise: true, returnByValue: true },
		);

		if (exceptionDetails)
			throw new Error(textOf(exceptionDetails));
		return result.value;
	}

	// Waits until that is something true, and returns it.
	until(code, ...values) {
		return eventually(() => this.evaluate(code, ...values),
			`${code} ${values}`);
	}

	// The page is as wide as the screen().  If it is wider, the error names
	// what is too wide.
	async fits(what = "") {
		const read = (width) => {
			const edge = (element) =>
				element.getBoundingClientRect().right + scrollX;

			return [document.documentElement.scrollWidth,
				...[...document.querySelectorAll("body *")]
					.filter((element) => edge(element) > width)
					.map((element) => `${edge(element)}: ${
						element.cloneNode().outerHTML}`)];
		};
		let found;

		try {
			await eventually(async () => {
				found = await this.evaluate(read, this.#width);
				return found[0] === this.#width;
			});
		} catch {
			throw new Error(`${what} is not ${this.#width} wide but ${
				found.join("\n")}`);
		}
	}

	// The text of an element, as it is shown.
	text(selector) {
		return this.evaluate((s) => document.querySelector(s).innerText,
			selector);
	}

	// Chooses files of this machine for an <input type="file">.
	async choose(selector, ...files) {
		const { root } = await this.command("DOM.getDocument");
		const { nodeId } = await this.command("DOM.querySelector", {
			nodeId: root.nodeId,
			selector,
		});

		await this.command("DOM.setFileInputFiles", {
			nodeId,
			files: files.map((file) => resolve(file)),
		});
	}

	// Clicks into its middle, when it is what is seen there; again, if it has
	// moved before the click came, as on a busy machine.
	async click(selector) {
		do {
			const at = await this.until((s) => {
				const element = document.querySelector(s);
				element.scrollIntoView({ block: "center" });
				const box = element.getBoundingClientRect();
				const x = box.x + box.width / 2;
				const y = box.y + box.height / 2;
				const seen = document.elementFromPoint(x, y);
				element.isMissed = true;
				element.addEventListener("click", () => {
					element.isMissed = false;
				}, { capture: true, once: true });
				return element.contains(seen) && { x, y };
			}, selector);

			for (const type of ["mousePressed", "mouseReleased"])
				await this.command("Input.dispatchMouseEvent", {
					type,
					...at,
					button: "left",
					clickCount: 1,
				});
		} while (await this.evaluate((s) =>
			document.querySelector(s)?.isMissed, selector));
	}

	// One key, by its name as in KeyboardEvent.key.
	async press(key) {
		const code = { key, windowsVirtualKeyCode: KEY_CODES[key] };
		const text = key === "Enter" ? "\r" : undefined;

		await this.command("Input.dispatchKeyEvent", {
			type: text ? "keyDown" : "rawKeyDown",
			...code,
			text,
		});
		await this.command("Input.dispatchKeyEvent", {
			type: "keyUp",
			...code,
		});
	}

	// Types into what has the focus.
	async type(text) {
		await this.command("Input.insertText", { text });
	}

	// The size of what is seen, in CSS pixels.
	async screen(width, height, isPhone = false) {
		this.#width = width;
		await this.command("Emulation.setDeviceMetricsOverride", {
			width,
			height,
			deviceScaleFactor: 1,
			mobile: isPhone,
		});
	}

	// What the person prefers: { "prefers-color-scheme": "dark" }.
	async prefer(preferences) {
		const features = Object.entries(preferences)
			.map(([name, value]) => ({ name, value }));

		await this.command("Emulation.setEmulatedMedia", { features });
	}

	// From now on, its requests by this method get this reply.
	async answer(method, status, type, body) {
		this.#replies.push({ method, status, type, body });
		await this.command("Fetch.enable");
	}

	// Saves what is seen: as a PNG, or, by the file's name, a JPEG.
	async picture(file) {
		const format = file.endsWith(".jpg") ? "jpeg" : "png";
		const { data } = await this.command("Page.captureScreenshot", {
			format,
			quality: format === "jpeg" ? 80 : undefined,
		});

		writeFileSync(file, Buffer.from(data, "base64"));
	}

	async #reply({ requestId, request }) {
		const reply = this.#replies
			.find(({ method }) => method === request.method);
		const answered = !reply
			? this.command("Fetch.continueRequest", { requestId })
			: this.command("Fetch.fulfillRequest", {
				requestId,
				responseCode: reply.status,
				responseHeaders: [{
					name: "Content-Type",
					value: reply.type,
				}],
				body: btoa(reply.body),
			});

		// The page may have given the request up by now.
		await answered.catch(() => {});
	}
}

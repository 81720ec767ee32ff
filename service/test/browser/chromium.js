// SPDX-License-Identifier: MIT
// A headless Chromium, driven by the DevTools Protocol, without a library.
//
// Commands go down one pipe as JSON, answers and events come up another, each
// ended by a NUL (--remote-debugging-pipe): there is no port that others could
// reach, and when the pipes close, as this process ends, Chromium ends, too.
//
//	Page.command() --> Chromium.command() --fd 3--> browser
//	Page.event()   <-- Chromium.#receive() <--fd 4-- browser

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Page } from "./page.js";

const ANSWER_MS = 60000; // where a page does not get to its commands

const FLAGS = [
	"--headless",
	"--no-sandbox", // root has none; it sees our own pages only
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-dev-shm-usage",
	// Of the address bar, which no test sees: two renderers per window; and
	// another per page, in advance for the next one.
	"--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup," +
		"SpareRendererForSitePerProcess",
	"--disable-gpu",
	"--disable-quic",
	"--disable-sync",
	"--force-color-profile=srgb",
	"--hide-scrollbars",
	// Other sites, and names of a private network.
	"--host-resolver-rules=MAP *.example 127.0.0.1, MAP *.test 127.0.0.1",
	"--no-first-run",
	"--remote-debugging-pipe",
];

export class Chromium {
	#process;
	#folder;
	#received = ""; // the beginning of a message
	#commands = new Map(); // by id: those that wait for their answers
	#pages = new Map(); // by the id of their session
	#lastId = 0;
	#failure = ""; // why there can be no more answers

	// With a profile of its own; the caller has to end() it.
	static async start() {
		const browser = new Chromium();

		await browser.command("Browser.getVersion");
		return browser;
	}

	constructor() {
		this.#folder = mkdtempSync(join(tmpdir(), "chromium-"));
		this.#process = spawn(
			process.env.CHROMIUM ?? "chromium",
			[...FLAGS, `--user-data-dir=${this.#folder}`],
			{
				detached: true, // a group, which end() ends
				env: {
					...process.env,
					HOME: this.#folder,
					TMPDIR: this.#folder,
				},
				stdio: ["ignore", "ignore", "ignore", "pipe",
					"pipe"],
			},
		);
		this.#process.on("error", (error) => this.#fail(error.message));
		this.#process.on("exit", () =>
			this.#fail("Chromium has ended"));
		const [, , , down, up] = this.#process.stdio;
		down.on("error", () => {}); // "exit" reports it
		up.setEncoding("utf8");
		up.on("data", (text) => this.#receive(text));
	}

	// The answer's result; an answer that is an error is thrown.
	async command(method, params = {}, sessionId = undefined) {
		if (this.#failure)
			throw new Error(`${method}: ${this.#failure}`);
		const id = ++this.#lastId;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => this.#answer({
				id,
				error: { message: "no answer" },
			}), ANSWER_MS);
			this.#commands.set(id,
				{ method, resolve, reject, timer });
			this.#process.stdio[3].write(JSON.stringify({
				id,
				method,
				params,
				sessionId,
			}) + "\0");
		});
	}

	// An empty page that shares nothing with others, such as storage.
	async page() {
		const { browserContextId } = await this.command(
			"Target.createBrowserContext",
		);
		const page = await this.open("about:blank", browserContextId);

		await page.prepare();
		return page;
	}

	// A page that shows url.
	async open(url, browserContextId = undefined) {
		const { targetId } = await this.command(
			"Target.createTarget",
			{ url, browserContextId },
		);
		const { sessionId } = await this.command(
			"Target.attachToTarget",
			{ targetId, flatten: true },
		);
		const page = new Page(this, sessionId, targetId);

		this.#pages.set(sessionId, page);
		return page;
	}

	// Ends all its processes and removes its folder.
	async end() {
		if (!this.#failure) {
			const exit = once(this.#process, "exit");
			process.kill(-this.#process.pid, "SIGKILL");
			await exit;
		}
		rmSync(this.#folder, {
			recursive: true,
			force: true,
			maxRetries: 9, // its crash handlers may not be gone yet
		});
	}

	#receive(text) {
		const messages = (this.#received + text).split("\0");

		this.#received = messages.pop();
		for (const message of messages.map((m) => JSON.parse(m))) {
			const page = this.#pages.get(message.sessionId);
			if (message.id === undefined)
				page?.event(message);
			else
				this.#answer(message);
		}
	}

	#answer({ id, result, error }) {
		const command = this.#commands.get(id);

		if (!command)
			return; // it came too late
		const { method, resolve, reject, timer } = command;
		clearTimeout(timer);
		this.#commands.delete(id);
		if (error)
			reject(new Error(`${method}: ${error.message}`));
		else
			resolve(result);
	}

	#fail(failure) {
		this.#failure = failure;
		for (const id of this.#commands.keys())
			this.#answer({ id, error: { message: failure } });
	}
}

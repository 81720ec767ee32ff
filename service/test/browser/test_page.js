// SPDX-License-Identifier: MIT
// The page as a whole: it loads from here alone, says how it is connected, can
// be used by keyboard and on a phone, and reads well in both themes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { axeSource, violations } from "./axe.js";
import {
	browser, isSeen, open, openLive, photo, reaches, server, show, views,
} from "./fixture.js";
import { Server } from "./server.js";

async function serve(t, ...flags) {
	const other = await Server.start(flags);

	t.after(() => other.stop());
	return other;
}

// Relative luminance of what the views are written on and with (WCAG 2.2).
function luminances(page) {
	return page.evaluate(() => {
		const style = getComputedStyle(document.body);
		return [style.backgroundColor, style.color].map((colour) => {
			const [r, g, b] = colour.match(/[\d.]+/g)
				.map((v) => v / 255)
				.map((v) => v <= 0.04045 ? v / 12.92 :
					((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		});
	});
}

test("loads without an error, and from its server alone", async (t) => {
	const page = await openLive(t, server.url);

	for (const view of views)
		await show(page, view);
	assert.deepEqual(page.errors, []);
	assert.ok(page.requests.length > 1);
	for (const address of page.requests)
		assert.equal(new URL(address).origin, server.url);
});

test("says that a file of it could not be loaded", async (t) => {
	const page = await browser.page();

	t.after(() => page.close());
	await page.command("Network.setBlockedURLs",
		{ urls: ["*/web/marks.js"] });
	await page.go(server.url);
	await page.until(() =>
		document.querySelector("#incomplete").checkVisibility());
	await page.command("Network.setBlockedURLs", { urls: [] });
	await page.click("#incomplete a");
	await reaches(page, "live");
	assert.ok(!await isSeen(page, "#incomplete"));
});

test("shows the view that its address names", async (t) => {
	for (const view of views) {
		const page = await openLive(t, server.url, view);
		for (const other of views)
			assert.equal(await isSeen(page, `#${other}`),
				other === view);
	}
});

test("says when the server is gone, and recovers by itself", async (t) => {
	const first = await Server.start();
	const page = await openLive(t, first.url);
	const said = await page.text("#state");

	await page.evaluate("window.isTheSame = true");
	await first.stop();
	await reaches(page, "lost");
	assert.notEqual(await page.text("#state"), said);

	const second = await Server.start([], first.port);
	t.after(() => second.stop());
	await reaches(page, "live");
	assert.equal(await page.text("#state"), said);
	assert.ok(await page.evaluate("isTheSame"), "was loaded again");
	assert.deepEqual(page.errors.filter((e) => /Uncaught/.test(e)), []);
});

// A server that wants the key, and a page that asks for it.
async function openLocked(t, key) {
	const folder = mkdtempSync(join(tmpdir(), "keys-"));
	t.after(() => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "keys"), key + "\n");
	const locked = await serve(t, "--api-key-file", join(folder, "keys"));
	const page = await open(t, locked.url);

	await reaches(page, "locked");
	return page;
}

// Into the form, where a key has the focus once it was wrong.
async function giveKey(page, key) {
	await page.until(() =>
		document.querySelector("#key-form").checkVisibility());
	await page.evaluate(() => document.querySelector("#key").select());
	await page.type(key);
	await page.press("Enter");
}

test("asks for the API key, and then goes live", async (t) => {
	const secret = "0123456789abcdef0123456789abcdef";
	const page = await openLocked(t, secret);

	await page.click("#key");
	await giveKey(page, "wrong");
	await page.until(() => /does not accept/.test(
		document.querySelector("#key-problem").textContent));
	assert.equal(await page.evaluate("document.activeElement.id"), "key");
	await giveKey(page, secret);
	await reaches(page, "live");
	assert.ok(!await isSeen(page, "#key-form"));
	assert.match(await page.evaluate(() =>
		document.querySelector("#curl").textContent), /-H "Auth/);
	assert.ok(!page.requests.some((address) => address.includes(secret)));

	await show(page, "try");
	await page.choose("#photo", photo);
	await page.click("#send");
	await page.until(() => document.querySelector("#result").naturalWidth);
});

test("takes no key that cannot be sent", async (t) => {
	const secret = "0123456789abcdef0123456789abcdef";
	const page = await openLocked(t, secret);

	await page.click("#key");
	await giveKey(page, "schl\u00fcssel");
	assert.notEqual(await page.evaluate(() =>
		document.querySelector("#key").validationMessage), "");
	assert.ok(await isSeen(page, "#key-form"));
	await page.evaluate(() =>
		sessionStorage.setItem("darkroom-key", "schl\u00fcssel"));
	await page.go(await page.evaluate("location.href"));
	await reaches(page, "locked");
	await page.click("#key");
	await giveKey(page, secret);
	await reaches(page, "live");
	assert.deepEqual(page.errors.filter((e) => /Uncaught/.test(e)), []);
});

test("tells where the live views are", async (t) => {
	const divided = await serve(t, "--admin-listen", "127.0.0.1:0");
	const page = await open(t, divided.url);

	await reaches(page, "elsewhere");
	assert.ok(await isSeen(page, "#try"));
	await page.until(() => document.querySelector("#state a"));
	assert.match(await page.text("#state"), /admin port/);
	assert.ok(!page.requests.some((url) => url.endsWith("/v1/live")));
	assert.deepEqual(page.errors, []);
	for (const view of ["graph", "cores"]) {
		await show(page, view);
		assert.equal(await page.text(`#${view}`), "This view is on the "
			+ `server's admin port: ${divided.adminUrl}`);
	}
	await page.click("#cores a");
	await reaches(page, "live");
	assert.equal(await page.evaluate("location.href"),
		`${divided.adminUrl}/#cores`);
});

test("says why there is no link to the live views", async (t) => {
	const divided = await serve(t, "--admin-listen", "127.0.0.1:0",
		"--public-url", "https://photos.example");
	const page = await open(t, divided.url);

	await reaches(page, "elsewhere");
	assert.match(await page.text("#state"), /admin port.*--admin-url/);
	await show(page, "graph");
	assert.match(await page.text("#graph"), /admin port.*--admin-url/);
});

test("goes from tab to tab by arrows", async (t) => {
	const page = await openLive(t, server.url);
	const focused = () => page.evaluate("document.activeElement.id");

	await page.evaluate(() => document.querySelector("#tab-graph").focus());
	for (const [key, view] of [
		["ArrowRight", "cores"], ["ArrowRight", "try"],
		["ArrowRight", "graph"], ["ArrowLeft", "try"],
		["Home", "graph"], ["End", "try"],
	]) {
		await page.press(key);
		assert.equal(await focused(), `tab-${view}`);
		await page.press("Enter");
		await page.until((v) => document.getElementById(v)
			.checkVisibility(), view);
		assert.equal(await page.evaluate(() => document.querySelector(
			"[role=tab][aria-selected=true]").id), `tab-${view}`);
	}
});

// What has the focus after each press of Tab, to the end of the page.
async function stops(page) {
	const found = [];

	for (;;) {
		await page.press("Tab");
		const stop = await page.evaluate(() => {
			const element = document.activeElement;
			return element !== document.body && {
				id: element.id || element.outerHTML,
				outline: getComputedStyle(element).outlineStyle,
			};
		});
		if (!stop || found.some(({ id }) => id === stop.id))
			return found;
		found.push(stop);
	}
}

test("all can be done by keyboard, and the focus is seen", async (t) => {
	const page = await openLive(t, server.url);

	for (const [view, controls] of [
		["graph", []],
		["cores", ["pause", "zoom-in", "zoom-out", "trace-link"]],
		["try", ["photo", "add-variant", ...["w", "fit", "filter", "blur", "q",
			"placeholder"].map((name) => `parameter-${name}`)]],
	]) {
		await show(page, view);
		const found = await stops(page);
		const ids = found.map(({ id }) => id);
		assert.deepEqual(controls.filter((c) => !ids.includes(c)), []);
		for (const { id, outline } of found)
			assert.notEqual(outline, "none", id);
	}
});

// What a finger cannot get at: it is beside the screen, or covered.
function unreachable() {
	const controls = document.querySelectorAll("a, button, input, select");

	return [...controls].filter((control) => {
		if (!control.checkVisibility() || control.type === "file")
			return false;
		control.scrollIntoView({ block: "center" });
		const box = control.getBoundingClientRect();
		const seen = document.elementFromPoint(
			box.x + box.width / 2, box.y + box.height / 2);
		return box.left < 0 || box.right > innerWidth ||
			!control.contains(seen);
	}).map((control) => control.outerHTML);
}

test("fits on a phone", async (t) => {
	const page = await openLive(t, server.url);

	await page.screen(375, 700, true);
	for (const view of views) {
		await show(page, view);
		await page.fits(view);
		assert.deepEqual(await page.evaluate(unreachable), [], view);
	}
});

// What the box of the figures says: to eyes, and to assistive technology.
function scrolling(page) {
	return page.evaluate(() => {
		const box = document.querySelector("#figures").parentNode;
		const hint = document.getElementById(
			box.getAttribute("aria-describedby"));
		return {
			more: box.parentNode.dataset.more,
			hint: hint?.checkVisibility()
				? hint.innerText : null,
			canFocus: box.tabIndex === 0,
		};
	});
}

test("a table that is too wide says that it scrolls", async (t) => {
	const page = await openLive(t, server.url, "graph");
	const says = (more) => page.until((m) => document
		.querySelector("#figures").closest(".scroller")
		.dataset.more === m, more);

	await says("");
	assert.deepEqual(await scrolling(page),
		{ more: "", hint: null, canFocus: false });
	await page.screen(375, 700, true);
	await says("right");
	const { hint, canFocus } = await scrolling(page);
	assert.match(hint, /scroll it sideways/);
	assert.ok(canFocus);
	await page.evaluate(() => {
		const box = document.querySelector("#figures").parentNode;
		box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
	});
	await says("left right");
	await page.evaluate(() => {
		document.querySelector("#figures").parentNode.scrollLeft = 0;
	});
	await says("right");
	await page.evaluate(() =>
		document.querySelector("#figures").parentNode.focus());
	// One press may show the end, if little is hidden.
	await page.press("ArrowRight");
	await page.until(() => document
		.querySelector("#figures").parentNode.scrollLeft > 0);
	await page.evaluate(() => {
		document.querySelector("#figures").parentNode.scrollLeft = 1e4;
	});
	await says("left");
	// Whose figures these are is seen all the time.
	assert.ok(await page.evaluate(() => document
		.querySelector("#figures tbody th")
		.getBoundingClientRect().left >= 0));
});

for (const theme of ["light", "dark"])
	test(`reads well in ${theme} colours`, async (t) => {
		const page = await openLive(t, server.url);

		await page.prefer({ "prefers-color-scheme": theme });
		const [back, text] = await luminances(page);
		if (theme === "dark")
			assert.ok(back < 0.05, `${back}`);
		else
			assert.ok(back > 0.8, `${back}`);
		const [low, high] = [back, text].sort((a, b) => a - b);
		assert.ok((high + 0.05) / (low + 0.05) >= 7);
	});

test("has no violation that axe-core finds", async (t) => {
	const source = await axeSource(browser);
	if (!source)
		return t.skip("no axe-core here, nor in Chromium");

	const page = await openLive(t, server.url);
	for (const theme of ["light", "dark"]) {
		await page.prefer({ "prefers-color-scheme": theme });
		for (const view of views) {
			await show(page, view);
			assert.deepEqual(await violations(page, source), [],
				`${view}, ${theme}`);
		}
	}
});

test("moves nothing for whom that is too much", async (t) => {
	const page = await openLive(t, server.url);

	await page.prefer({ "prefers-reduced-motion": "reduce" });
	assert.deepEqual(await page.evaluate(() =>
		[...document.querySelectorAll("*")].filter((element) => {
			const style = getComputedStyle(element);
			return style.animationName !== "none" ||
				/[1-9]/.test(style.transitionDuration) ||
				style.scrollBehavior === "smooth";
		}).map((element) => element.outerHTML.slice(0, 200))), []);
});

// SPDX-License-Identifier: MIT
// Content that is wider than the screen scrolls in a box of its own.  A shadow at
// each side with hidden content and a line of text show this; the text is also
// the description of the box for assistive technology.  A keyboard can scroll it.

import { element, setAttribute } from "./dom.js";

let count = 0;

function moreOf({ scrollLeft, scrollWidth, clientWidth }) {
	const rest = scrollWidth - clientWidth;

	return [
		...scrollLeft > 1 ? ["left"] : [],
		...scrollLeft < rest - 1 ? ["right"] : [],
	];
}

// label: its name; word: what is wide, such as "table".  Returns { all, box }:
// `box` has `content`, and `all` goes into the page.
export function scroller(label, word, content) {
	const hint = element("p", { class: "hint quiet", hidden: "",
		id: `scrolls-${count++}` },
	`This ${word} is wider than the screen: scroll it sideways.`);
	const box = element("div", { class: "scrolls", role: "region",
		"aria-label": label }, content);
	const frame = element("div", { class: "scroller" }, box);

	function show() {
		const isWide = box.scrollWidth > box.clientWidth + 1;

		hint.hidden = !isWide;
		setAttribute(frame, "data-more", moreOf(box).join(" "));
		setAttribute(box, "tabindex", isWide ? 0 : -1);
		if (isWide)
			setAttribute(box, "aria-describedby", hint.id);
		else
			box.removeAttribute("aria-describedby");
	}

	box.addEventListener("scroll", show, { passive: true });
	const observer = new ResizeObserver(show);
	observer.observe(box);
	observer.observe(content);
	return { all: element("div", {}, hint, frame), box };
}

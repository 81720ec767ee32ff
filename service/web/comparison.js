// SPDX-License-Identifier: MIT
// The original and the result: side by side or, if both have the same aspect
// ratio, one over the other with a slider.

import { byId } from "./dom.js";
import { formatBytes } from "./figures.js";

const ids = ["original", "result"];
const shown = {}; // by id: { bytes, width_px, height_px }, or no size

// "97.1 %"; never 100 % for a value a little below.
function percent(share) {
	return Math.floor(1000 * share) / 10 + "\u00a0%";
}

function savedWords(before_bytes, after_bytes) {
	const change = `${formatBytes(before_bytes)} became `
		+ `${formatBytes(after_bytes)}`;

	if (after_bytes > before_bytes)
		return `Nothing saved: ${change}, `
			+ `${percent(after_bytes / before_bytes - 1)} more`;
	return `${percent(1 - after_bytes / before_bytes)} saved: ${change}`;
}

// Equal within 1 %, or within the rounding to whole pixels.
function haveSameShape(a, b) {
	const width_px = b.height_px * a.width_px / a.height_px;

	return Math.abs(b.width_px - width_px) <= Math.max(2, 0.01 * width_px);
}

function arrange() {
	const { original, result } = shown;
	const canOverlap = Boolean(original?.width_px && result?.width_px)
		&& haveSameShape(original, result);
	const over = document.querySelector("[name=layout][value=over]");
	const pictures = byId("pictures");

	over.disabled = !canOverlap;
	pictures.dataset.layout =
		canOverlap && over.checked ? "over" : "beside";
	if (canOverlap)
		pictures.style.setProperty("--aspect",
			result.width_px / result.height_px);
}

function caption(id) {
	const { bytes, width_px, height_px } = shown[id];
	const size = width_px
		? `${width_px} × ${height_px}`
		: "not a picture that this browser can show";

	byId(`${id}-size`).textContent = `${size}, ${formatBytes(bytes)}`;
}

export function forget(id) {
	const image = byId(id);

	URL.revokeObjectURL(image.src);
	image.removeAttribute("src");
	image.closest("figure").hidden = true;
	byId("saved").textContent = "";
	delete shown[id];
	arrange();
}

// The old picture stays until the new one is loaded.  Resolves when the new one
// is visible or cannot be shown.
export async function show(id, blob, name) {
	const image = byId(id);
	const link = byId(`${id}-link`);
	const facts = { bytes: blob.size };

	shown[id] = facts;
	URL.revokeObjectURL(image.src);
	image.src = link.href = URL.createObjectURL(blob);
	link.download = name;
	const isPicture = await image.decode().then(() => true, () => false);
	if (shown[id] !== facts)
		return;
	if (isPicture) {
		facts.width_px = image.naturalWidth;
		facts.height_px = image.naturalHeight;
	}
	image.hidden = !isPicture;
	image.closest("figure").hidden = false;
	caption(id);
	arrange();
	if (ids.every((one) => one in shown))
		byId("saved").textContent =
			savedWords(shown.original.bytes, shown.result.bytes);
}

export function make() {
	const reveal = byId("reveal");

	for (const input of document.querySelectorAll("[name=layout]"))
		input.onchange = arrange;
	reveal.oninput = () => byId("pictures").style
		.setProperty("--reveal", reveal.value / 100);
}

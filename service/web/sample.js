// SPDX-License-Identifier: MIT
// JPEGs made by the browser: a test picture, and pasted pictures of other formats.

import { canvasOf } from "./dom.js";
import { formats } from "./parameters.js";

const WIDTH_PX = 1800;
const HEIGHT_PX = 1200;
const PLATE_PX = 900;

function asJpeg(canvas, name) {
	return new Promise((made) => canvas.toBlob((blob) =>
		made(new File([blob], name, { type: blob.type })),
	"image/jpeg", 0.92));
}

// Rings that become finer outwards: aliasing in scaling shows false rings.
function drawZonePlate(context, left_px, top_px) {
	const plate = context.createImageData(PLATE_PX, PLATE_PX);
	const pixels = new Uint32Array(plate.data.buffer);

	for (let i = 0; i < pixels.length; i++) {
		const x = i % PLATE_PX - PLATE_PX / 2;
		const y = Math.floor(i / PLATE_PX) - PLATE_PX / 2;
		const turns = (x * x + y * y) / (10 * PLATE_PX);
		const wave = Math.cos(2 * Math.PI * turns);

		const grey = Math.round(127.5 + 127.5 * wave);

		pixels[i] = 0xff000000 | grey * 0x010101;
	}
	context.putImageData(plate, left_px, top_px);
}

// Edges, text and all hues, to see blur and quality.
function drawPatches(context) {
	for (let i = 0; i < 6; i++) {
		context.fillStyle = `hsl(${60 * i} 80% 50%)`;
		context.fillRect(1110 + i % 2 * 300, 150 + (i >> 1) * 230,
			260, 190);
	}
	context.fillStyle = "#fff";
	context.font = "bold 96px sans-serif";
	context.fillText("Darkroom", 1110, 960);
	context.font = "28px sans-serif";
	context.fillText("A test picture, made by the page", 1110, 1020);
}

export function testPicture() {
	const canvas = canvasOf(WIDTH_PX, HEIGHT_PX);
	const context = canvas.getContext("2d");
	const sky = context.createLinearGradient(0, 0, WIDTH_PX, HEIGHT_PX);

	sky.addColorStop(0, "#203a5c");
	sky.addColorStop(1, "#d07a4a");
	context.fillStyle = sky;
	context.fillRect(0, 0, WIDTH_PX, HEIGHT_PX);
	drawZonePlate(context, 120, 150);
	drawPatches(context);
	return asJpeg(canvas, "test-picture.jpg");
}

// A picture in a format that the server does not read becomes a JPEG.  Other files
// are not changed.
export async function pastedPicture(file) {
	if (formats.some(({ type }) => type === file.type))
		return file;
	const bitmap = await createImageBitmap(file).catch(() => null);
	if (bitmap === null)
		return file;
	const canvas = canvasOf(bitmap.width, bitmap.height);

	canvas.getContext("2d").drawImage(bitmap, 0, 0);
	return asJpeg(canvas, "pasted.jpg");
}

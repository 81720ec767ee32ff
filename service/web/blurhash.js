// SPDX-License-Identifier: MIT
// Reads a BlurHash: https://github.com/woltapp/blurhash/blob/master/Algorithm.md
// It describes a picture by a few cosines in each direction, in linear light.
// Pure.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" +
	"#$%*+,-.:;=?@[]^_{|}~";
const STEPS = 19; // of each colour of a cosine
const MIDDLE = 9; // none of it

function number(text) {
	return [...text].reduce((n, digit) =>
		n * DIGITS.length + DIGITS.indexOf(digit), 0);
}

function toLinear(byte) {
	const v = byte / 255;

	return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
}

function fromLinear(value) {
	const v = Math.min(Math.max(value, 0), 1);

	return Math.round(255 * (v <= 0.0031308
		? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
}

// The mean colour: red, green and blue.
function mean(text) {
	const rgb = number(text);

	return [rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255].map(toLinear);
}

function cosine(text, most) {
	const n = number(text);

	return [Math.floor(n / STEPS ** 2), Math.floor(n / STEPS) % STEPS,
		n % STEPS].map((step) => {
		const share = (step - MIDDLE) / MIDDLE;

		return Math.sign(share) * share ** 2 * most;
	});
}

// The number of cosines, across and down; null: not a BlurHash.
function sizes(hash) {
	if (hash.length < 6 || [...hash].some((c) => !DIGITS.includes(c)))
		return null;
	const across = number(hash[0]) % 9 + 1;
	const down = Math.floor(number(hash[0]) / 9) + 1;

	return hash.length === 4 + 2 * across * down ? { across, down } : null;
}

// The values of `count` cosines at each of `length` pixels.
function waves(count, length) {
	return Array.from({ length: count }, (_, wave) =>
		Array.from({ length }, (_, at) =>
			Math.cos(Math.PI * wave * at / length)));
}

// Returns the samples for an ImageData of this size, or null.
export function decode(hash, width_px, height_px) {
	const size = sizes(hash);

	if (size === null)
		return null;
	const { across, down } = size;
	const most = (number(hash[1]) + 1) / 166;
	const colours = Array.from({ length: across * down }, (_, i) => i === 0
		? mean(hash.slice(2, 6))
		: cosine(hash.slice(4 + 2 * i, 6 + 2 * i), most));
	const inX = waves(across, width_px);
	const inY = waves(down, height_px);
	const samples = new Uint8ClampedArray(4 * width_px * height_px);

	for (let y = 0; y < height_px; y++)
		for (let x = 0; x < width_px; x++) {
			const at = 4 * (y * width_px + x);
			const sum = [0, 0, 0];

			colours.forEach((colour, i) => {
				const share = inX[i % across][x]
					* inY[Math.floor(i / across)][y];

				for (let c = 0; c < 3; c++)
					sum[c] += colour[c] * share;
			});
			samples.set([...sum.map(fromLinear), 255], at);
		}
	return samples;
}

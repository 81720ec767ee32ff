// SPDX-License-Identifier: MIT
// A BlurHash becomes the picture that it stands for, and what is none does not.
import assert from "node:assert/strict";
import test from "node:test";
import { decode } from "../../web/blurhash.js";

const pixel = (samples, at) => [...samples.slice(4 * at, 4 * at + 4)];

test("one colour is that colour", () => {
	// 0xc08040 in base 83, of a single cosine.
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs" +
		"tuvwxyz#$%*+,-.:;=?@[]^_{|}~";
	let text = "";
	for (let n = 0xc08040, i = 0; i < 4; i++, n = Math.floor(n / 83))
		text = digits[n % 83] + text;
	const samples = decode("00" + text, 3, 2);

	assert.equal(samples.length, 24);
	for (let i = 0; i < 6; i++)
		assert.deepEqual(pixel(samples, i), [0xc0, 0x80, 0x40, 255]);
});

// Made by the npm package blurhash 2.0.5 of pictures of 32 x 32, which are also
// those of imgops/test/test_placeholder.c.
const known = {
	"L+IOhG~q%Mxut7ofj[j[ayayfQfQ": (x, y) => {
		const grey = 255 - 7 * x - Math.floor(y * y / 64);
		return [grey, grey, grey];
	},
	"LdAUszdrg1jaRJf{fifRfofifPfR": (x, y) => {
		const [luma, blue, red] = [40 + 3 * x + y, 62 - 4 * y, 22 - 2 * x];
		return [luma + 1.402 * red,
			luma - 0.344136 * blue - 0.714136 * red,
			luma + 1.772 * blue];
	},
};

test("a picture is about what it was", () => {
	for (const [hash, colour] of Object.entries(known)) {
		const samples = decode(hash, 32, 32);
		let error = 0;

		for (let i = 0; i < 1024; i++)
			colour(i % 32, Math.floor(i / 32)).forEach((value, c) => {
				const was = Math.min(Math.max(value, 0), 255);

				error += Math.abs(samples[4 * i + c] - was);
			});
		assert.ok(error / 3072 < 16, `${hash}: ${error / 3072}`);
	}
});

test("what is no BlurHash is nothing", () => {
	for (const text of ["", "L", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "00\u00e4000",
		"LEHV6nWB2yk8pyo0adR*.7kCMdnj0", "00<br>"])
		assert.equal(decode(text, 4, 4), null);
});

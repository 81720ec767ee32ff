// SPDX-License-Identifier: MIT

export function make(root) {
	return {
		hello() {},
		frame() {},
		shown() {},
	};
}

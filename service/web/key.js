// SPDX-License-Identifier: MIT
// The API key that requests of this page are sent with: asked for when the
// server wants one, kept as long as the tab is open.

const NAME = "darkroom-key";

export const key = {
	value: sessionStorage.getItem(NAME) ?? "",
	asked: null, // what next() gave, while the form is open

	// Ask for one; ends when somebody has given it, for all who wait.
	next() {
		this.asked ??= this.ask();
		return this.asked;
	},

	ask() {
		const form = document.getElementById("key-form");
		const input = document.getElementById("key");

		form.hidden = false;
		return new Promise((given) => {
			form.onsubmit = (event) => {
				event.preventDefault();
				this.value = input.value.trim();
				sessionStorage.setItem(NAME, this.value);
				form.hidden = true;
				this.asked = null;
				given();
			};
		});
	},

	// Headers of a request.
	headers() {
		return this.value ? { Authorization: `Bearer ${this.value}` } : {};
	},
};

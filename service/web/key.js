// SPDX-License-Identifier: MIT
// The API key that requests of this page are sent with: asked for when the
// server wants one, kept as long as the tab is open.
//
//	key.fetch() --401--> the form --key--> event "change", and next() ends

const NAME = "darkroom-key";

// What is wrong with a key, "" if nothing is: others do not fit in a header.
export function keyProblem(value) {
	return /^[!-~]+$/.test(value) ? ""
		: "A key is of letters, digits and signs of ASCII, without spaces";
}

class Key extends EventTarget {
	#asked = Promise.resolve(); // ends when the form is closed
	value = "";

	constructor() {
		super();
		const kept = sessionStorage.getItem(NAME);

		if (kept !== null && keyProblem(kept) === "")
			this.value = kept;
		else
			sessionStorage.removeItem(NAME);
	}

	// As fetch().  If the server does not take the key, or wants one, the
	// form asks for another, and the reply says so.
	async fetch(address, options = {}) {
		const { value } = this;
		const headers = value
			? { Authorization: `Bearer ${value}` } : {};
		const reply = await fetch(address, { ...options, headers });

		if (reply.status === 401 && value === this.value)
			this.#ask();
		return reply;
	}

	// Ends when somebody has given one, for all who wait.
	next() {
		return this.#asked;
	}

	#ask() {
		const form = document.getElementById("key-form");
		const input = document.getElementById("key");

		if (!form.hidden)
			return;
		form.hidden = false;
		document.getElementById("key-problem").textContent = this.value
			? "The server does not take this key." : "";
		if (this.value) {
			input.focus();
			input.select();
		}
		input.oninput = () => input.setCustomValidity(
			keyProblem(input.value.trim()));
		input.oninput();
		this.#asked = new Promise((given) => {
			form.onsubmit = (event) => {
				event.preventDefault();
				form.hidden = true;
				this.#set(input.value.trim());
				given();
			};
		});
	}

	#set(value) {
		this.value = value;
		sessionStorage.setItem(NAME, value);
		this.dispatchEvent(new Event("change"));
	}
}

export const key = new Key();

// SPDX-License-Identifier: MIT
// The API key for requests of this page.  The form asks for it when the server
// requires one; it is kept while the tab is open.
//
//	key.fetch() --401--> the form --key--> event "change", and next() ends

const NAME = "darkroom-key";

// What is wrong with a key; "": nothing.  Other characters do not fit in a header.
export function keyProblem(value) {
	return /^[!-~]+$/.test(value) ? ""
		: "A key has only printable ASCII characters, without spaces";
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

	// Like fetch().  If the server refuses the key or requires one, the form
	// asks for it; the caller sees it in the reply.
	async fetch(address, options = {}) {
		const { value } = this;
		const headers = { ...options.headers, ...value
			? { Authorization: `Bearer ${value}` } : {} };
		const reply = await fetch(address, { ...options, headers });

		if (reply.status === 401 && value === this.value)
			this.#ask();
		return reply;
	}

	// Resolves, for all callers, when a key was entered.
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
			? "The server does not accept this key." : "";
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

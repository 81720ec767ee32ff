// SPDX-License-Identifier: MIT
// The part of the form for several results: a row for each, with a name and its
// parameters, written as in the query.

import { byId, element } from "./dom.js";
import { variantsMax } from "./parameters.js";
import { variantProblems } from "./query.js";

// The first values of new rows.
const examples = [
	{ name: "thumb", parameters: "w=320,h=320,fit=cover" },
	{ name: "page", parameters: "w=1280" },
];

let rows = []; // { name, parameters, all }: two inputs, and what holds them
let count = 0; // of rows made, for their ids

function label(input, text) {
	return element("label", { for: input.id }, text);
}

function makeRow(example, remove) {
	const number = ++count;
	const name = element("input", { id: `variant-name-${number}`,
		spellcheck: "false", autocomplete: "off", required: "" });
	const parameters = element("input", { spellcheck: "false",
		autocomplete: "off", id: `variant-parameters-${number}` });
	const button = element("button", { type: "button" }, "Remove");
	const all = element("div", { class: "variant", role: "group",
		"aria-label": "Variant" },
	label(name, "Name"), name, button,
	label(parameters, "Parameters"), parameters);
	const row = { name, parameters, all };

	name.value = example.name;
	parameters.value = example.parameters;
	button.onclick = () => remove(row);
	return row;
}

function unusedExample() {
	const used = rows.map(({ name }) => name.value);
	const found = examples.find(({ name }) => !used.includes(name));

	if (found !== undefined)
		return found;
	for (let i = rows.length + 1; ; i++)
		if (!used.includes(`variant${i}`))
			return { name: `variant${i}`, parameters: "w=640" };
}

// [{ name, parameters }], in the order of the rows.
export function readVariants() {
	return rows.map(({ name, parameters }) => ({
		name: name.value.trim(),
		parameters: parameters.value.trim(),
	}));
}

// Shows at each row what is wrong with it.
export function checkVariants() {
	const problems = variantProblems(readVariants());

	rows.forEach(({ name, all }, i) => {
		name.setCustomValidity(problems[i]);
		all.setAttribute("aria-label", `Variant ${name.value}`);
		all.querySelector("button").setAttribute("aria-label",
			`Remove variant ${name.value}`);
	});
}

export function makeVariants(onChange) {
	const list = byId("variants");
	const add = byId("add-variant");

	function change() {
		add.disabled = rows.length === variantsMax;
		onChange();
	}

	function remove(row) {
		rows = rows.filter((other) => other !== row);
		row.all.remove();
		change();
		add.focus();
	}

	add.onclick = () => {
		const row = makeRow(unusedExample(), remove);

		rows.push(row);
		list.append(row.all);
		change();
		row.parameters.focus();
	};
}

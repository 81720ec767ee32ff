// SPDX-License-Identifier: MIT
// The part of the form with a control for each parameter, made from the server's
// own table of parameters.

import { byId, element } from "./dom.js";
import { parameters } from "./parameters.js";
import { isSigma } from "./query.js";

// First values of the form that are not the defaults.
const begin = { w: "1280" };

const idOf = ({ name }) => `parameter-${name}`;
const controlOf = (parameter) => byId(idOf(parameter));
const isCheckbox = ({ kind, words }) => kind === "switch"
	&& words[0].name === "0";

// What the text of such a value has.
const places = { rect: "x,y,w,h", point: "x,y", sides: "top,right,bottom,left",
	name: "none", score: "none or ssimulacra2:75" };

function explanation({ kind, help, min, max, default: none, ifAbsent }) {
	const range = ["side", "bytes", "quality"].includes(kind)
		? [`${min} to ${max}`] : [];

	return [help, ...range,
		none === null ? `default: ${ifAbsent}` : `default ${none}`].join("; ");
}

function makeSelect({ words, default: none }, attributes) {
	return element("select", attributes, ...words.map(({ name, meaning }) =>
		element("option", { value: name,
			...name === none && { selected: "" } },
		meaning === null ? name : `${name}: ${meaning}`)));
}

function makeControl(parameter, attributes) {
	const { name, kind, min, max } = parameter;
	const value = begin[name] ?? parameter.default ?? "";

	switch (kind) {
	case "side":
	case "bytes":
		return element("input",
			{ ...attributes, type: "number", min, max, value });
	case "sigma":
		return element("input", { ...attributes, type: "number",
			min: 0, max, step: "any", value, required: "" });
	case "factor":
		return element("input", { ...attributes, type: "number",
			min, max, step: "any", value, required: "" });
	case "rect":
	case "point":
	case "sides":
	case "name":
	case "score":
		return element("input", { ...attributes, type: "text", value,
			...!["name", "score"].includes(kind)
				&& { inputmode: "numeric" },
			placeholder: places[kind] });
	case "quality":
		return element("span", { class: "slider" },
			element("input",
				{ ...attributes, type: "range", min, max, value }),
			element("output", { for: attributes.id, "aria-live": "off" },
				value));
	case "colour":
		return element("input",
			{ ...attributes, type: "color", value: `#${value}` });
	default:
		return isCheckbox(parameter)
			? element("input", { ...attributes, type: "checkbox",
				...value === "1" && { checked: "" } })
			: makeSelect(parameter, attributes);
	}
}

function makeRow(parameter) {
	const id = idOf(parameter);
	const control = makeControl(parameter,
		{ id, "aria-describedby": `${id}-help` });
	const help = element("small", { id: `${id}-help` },
		explanation(parameter));

	return isCheckbox(parameter)
		? element("p", {}, element("label", { class: "wide" }, control,
			` ${parameter.label}`), help)
		: element("p", {}, element("label", { for: id }, parameter.label),
			control, help);
}

export function makeForm() {
	for (const parameter of parameters)
		byId(parameter.isAdvanced ? "advanced" : "parameters")
			.append(makeRow(parameter));
}

// Does the form have such a value, as "fit=cover" or "fit=cover|pad"?
function isSaid(onlyWith) {
	const [name, values] = onlyWith.split("=");

	return values.split("|").includes(byId(`parameter-${name}`).value);
}

function read(parameter) {
	const control = controlOf(parameter);

	if (parameter.onlyWith !== null && !isSaid(parameter.onlyWith))
		return null;
	if (control.type === "checkbox")
		return control.checked ? "1" : "0";
	if (control.type === "color")
		return control.value.slice(1);
	if (!["number", "range"].includes(control.type))
		return control.value || null;
	return Number.isNaN(control.valueAsNumber)
		? null : String(control.valueAsNumber);
}

// { w: "1280", h: null, ... }: null for an empty control.
export function readForm() {
	return Object.fromEntries(parameters
		.map((parameter) => [parameter.name, read(parameter)]));
}

// Shows the parameters that have an effect, and what is wrong with them.
export function checkForm() {
	for (const parameter of parameters) {
		const control = controlOf(parameter);
		const row = control.closest("p");
		const output = row.querySelector("output");

		if (output !== null)
			output.textContent = control.value;
		row.hidden = parameter.onlyWith !== null
			&& !isSaid(parameter.onlyWith);
		if (parameter.kind === "sigma")
			control.setCustomValidity(
				isSigma(control.valueAsNumber, parameter) ? ""
					: `0 for none, or at least ${parameter.min}`);
	}
}

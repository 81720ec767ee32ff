// SPDX-License-Identifier: MIT
// Elements found, made, and changed in place: what already is so is not
// touched, or a browser would draw it again.  Text is set as text, so whatever
// a server or a file says, it is never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
	for (const [name, value] of Object.entries(attributes))
		made.setAttribute(name, value);
	made.append(...children);
	return made;
}

export const byId = (id) => document.getElementById(id);

// Children are elements or texts.
export function element(name, attributes = {}, ...children) {
	return fill(document.createElement(name), attributes, children);
}

export function svgElement(name, attributes = {}, ...children) {
	return fill(document.createElementNS(SVG, name), attributes, children);
}

export function canvasOf(width_px, height_px) {
	return element("canvas", { width: width_px, height: height_px });
}

export function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

export function setAttribute(node, name, value) {
	if (node.getAttribute(name) !== String(value))
		node.setAttribute(name, value);
}

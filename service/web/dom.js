// SPDX-License-Identifier: MIT
// Finds, makes and changes elements.  A value that has not changed is not set
// again, because the browser would draw it again.  Text is always set as text,
// never as markup, whatever a server or a file contains.

const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
	for (const [name, value] of Object.entries(attributes))
		made.setAttribute(name, value);
	made.append(...children);
	return made;
}

export const byId = (id) => document.getElementById(id);

// Children are elements or strings.
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

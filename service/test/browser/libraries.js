// SPDX-License-Identifier: MIT
// Upload libraries, as npm has them: taken from node_modules/ here, after
// `npm install`, which is optional.

import { existsSync, readFileSync } from "node:fs";

const FILES = {
	ActiveStorage:
		"@rails/activestorage/app/assets/javascripts/activestorage.js",
	Dropzone: "dropzone/dist/dropzone-min.js",
	FilePond: "filepond/dist/filepond.js",
	Plupload: "plupload/js/plupload.full.min.js",
	Uppy: "uppy/dist/uppy.min.js",
	tus: "tus-js-client/dist/tus.js",
};

// Is this one installed?  If not, the test is skipped.
export function hasLibrary(t, name) {
	if (existsSync(pathOf(name)))
		return true;
	console.log(`skipped: no ${name} in node_modules: npm install`);
	t.skip();
	return false;
}

// Its text, for page.evaluate().
export function library(name) {
	return `${readFileSync(pathOf(name), "utf8")}; undefined`;
}

function pathOf(name) {
	return new URL(`node_modules/${FILES[name]}`, import.meta.url);
}

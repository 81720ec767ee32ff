// SPDX-License-Identifier: MIT
// The query for the values of the form, and a curl command that does the same.
// Pure.

const VARIANT_NAME = /^[a-z0-9_-]{1,32}$/;
export const ANY_PICTURE = "image/*";

// Does the server accept this standard deviation?  NaN counts as accepted.
export function isSigma(sigma, { min }) {
	return !(sigma > 0 && sigma < min);
}

// What is wrong with each name of [{ name, parameters }]; "": nothing.  The
// server checks the parameters.
export function variantProblems(variants) {
	const names = variants.map(({ name }) => name);

	return names.map((name, i) => {
		if (!VARIANT_NAME.test(name))
			return "1 to 32 of a-z, 0-9, _ and -";
		return names.indexOf(name) < i
			? `there is another variant called ${name}` : "";
	});
}

// Several results are requested as JSON, a single one as a picture.
export function isSeveral(asked) {
	return asked.variants.length > 1;
}

// The word of a single result's format.  That of a preset is not known here.
export function formatOf({ format, variants }) {
	const [, own] = variants.length === 1
		? /(?:^|,)format=([^,]*)/.exec(variants[0].parameters) ?? [] : [];

	return own ?? format;
}

// May the server choose a format?  Presets are not known here.
function isAuto({ format, variants }) {
	return format === "auto" || variants.some(({ parameters }) =>
		/(?:^|,)format=auto(?:,|$)/.test(parameters));
}

// The value of Accept; shown: the types that the server may choose among.
export function accept(asked, shown) {
	const named = isAuto(asked) ? shown : [];

	return isSeveral(asked)
		? ["application/json", ...named.map((type) => `${type};q=0.9`)]
			.join()
		: [...named, ANY_PICTURE].join();
}

// URL encoding that keeps the separators of a variant readable.
function encoded(text) {
	return encodeURIComponent(text).replace(/%(3A|2C|3D)/g, decodeURIComponent);
}

// A name without parameters is a preset.
function variantText({ name, parameters }) {
	return parameters === "" ? name : `${name}:${parameters}`;
}

// asked: { w, h, fit, ..., variants }, each as in a query, or null; parameters:
// those of parameters.js, in the order of the query.  Returns the query with its
// "?", or "" if all are defaults.
export function query(asked, parameters) {
	const said = parameters
		.filter(({ name, default: none }) =>
			(asked[name] ?? none) !== none)
		.map(({ name }) => [name, asked[name]]);
	const all = [...said, ...asked.variants.map((variant) =>
		["variant", variantText(variant)])];

	return all.length > 0 ? "?" + all
		.map(([name, value]) => `${name}=${encoded(value)}`)
		.join("&") : "";
}

function escaped(character) {
	const point = character.codePointAt(0);
	const [letter, digits] = point < 0x80 ? ["x", 2]
		: point < 0x10000 ? ["u", 4] : ["U", 8];

	return `\\${letter}${point.toString(16).padStart(digits, "0")}`;
}

// Quotes any text as one shell word.  Control and format characters are written
// as escapes ($'' of bash and zsh), because pasted they could control the
// terminal or change the visible order of the line.
export function shellQuoted(text) {
	if (/^[\w@%+=:,./-]+$/.test(text))
		return text;
	if (!/[\p{Cc}\p{Cf}]/u.test(text))
		return "'" + text.replaceAll("'", "'\\''") + "'";
	return "$'" + text.replace(/[\\'\p{Cc}\p{Cf}]/gu, (character) =>
		/['\\]/.test(character)
			? "\\" + character : escaped(character)) + "'";
}

// A file name that curl does not take as an option or "-".
function filePath(name) {
	return name.startsWith("-") ? "./" + name : name;
}

// The name for the result or a variant; never the name of the photo itself.
export function resultName(name, variant = "", ending = "jpg") {
	const suffix = variant === "" ? "" : `-${variant}`;

	return `${name.replace(/\.\w+$/, "")}-darkroom${suffix}.${ending}`;
}

// The curl command for a file of that name.  It does not contain the key, so the
// shell's history does not either.
export function curlLine(url, name,
	{ isKeyed, isSeveral, accept: wanted, ending }) {
	const made = resultName(name, "", isSeveral ? "json" : ending);

	return [
		"curl --data-binary",
		shellQuoted("@" + filePath(name)),
		...isKeyed ? ['-H "Authorization: Bearer $DARKROOM_KEY"'] : [],
		...wanted === ANY_PICTURE ? []
			: ["-H", shellQuoted(`Accept: ${wanted}`)],
		shellQuoted(url),
		"-o",
		shellQuoted(filePath(made)),
	].join(" ");
}

// SPDX-License-Identifier: MIT
// What is asked of the server, in its words: the query, and a curl line that
// asks for the same.  Pure; ranges and defaults are those of docs/http-api.md.

const BLUR_MIN = 0.3;

// In the order of the query.  `none` is what the server does by itself.
export const parameters = [
	{ name: "w", none: null },
	{ name: "h", none: null },
	{ name: "fit", none: "inside" },
	{ name: "blur", none: 0 },
	{ name: "q", none: 80 },
];

// Of a blur that the server takes, "": what is wrong with others.
export function blurProblem(sigma) {
	return sigma > 0 && sigma < BLUR_MIN
		? `0 for none, or at least ${BLUR_MIN}` : "";
}

// recipe: { w, h, fit, blur, q }, null where nothing is said.
// With its "?", or "" if it would say nothing new.
export function query(recipe) {
	const said = parameters
		.filter(({ name, none }) => (recipe[name] ?? none) !== none)
		.map(({ name }) => [name, String(recipe[name])]);

	return said.length > 0 ? "?" + new URLSearchParams(said) : "";
}

function escaped(character) {
	const point = character.codePointAt(0);
	const [letter, digits] = point < 0x80 ? ["x", 2]
		: point < 0x10000 ? ["u", 4] : ["U", 8];

	return `\\${letter}${point.toString(16).padStart(digits, "0")}`;
}

// One word of a shell, whatever is in it.  Control and format characters are
// written as escapes ($'', of bash and zsh): pasted, they might act on the
// terminal, or show the line in another order.
export function shellQuoted(text) {
	if (/^[\w@%+=:,./-]+$/.test(text))
		return text;
	if (!/[\p{Cc}\p{Cf}]/u.test(text))
		return "'" + text.replaceAll("'", "'\\''") + "'";
	return "$'" + text.replace(/[\\'\p{Cc}\p{Cf}]/gu, (character) =>
		/['\\]/.test(character)
			? "\\" + character : escaped(character)) + "'";
}

// The name of a file that is neither an option nor "-".
function filePath(name) {
	return name.startsWith("-") ? "./" + name : name;
}

// For the result: never the name of the photo itself.
export function resultName(name) {
	return name.replace(/\.\w+$/, "") + "-darkroom.jpg";
}

// The line that does what the page does with a file of that name.  The key
// stays out of it, and so out of the shell's history.
export function curlLine(url, name, isKeyed) {
	return [
		"curl --data-binary",
		shellQuoted("@" + filePath(name)),
		...isKeyed ? ['-H "Authorization: Bearer $DARKROOM_KEY"'] : [],
		shellQuoted(url),
		"-o",
		shellQuoted(filePath(resultName(name))),
	].join(" ");
}

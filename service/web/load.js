// SPDX-License-Identifier: MIT
// Says when a file of the page did not come, as from a server that refuses
// connections because it has too many.  Its modules cannot, as then none runs.

document.addEventListener("error", ({ target }) => {
	if (!["LINK", "SCRIPT"].includes(target.tagName))
		return;
	const tell = () => {
		document.getElementById("incomplete").hidden = false;
		if (target.tagName === "SCRIPT")
			document.getElementById("state").textContent =
				"Not loaded";
	};

	if (document.readyState === "loading")
		document.addEventListener("DOMContentLoaded", tell);
	else
		tell();
}, true);

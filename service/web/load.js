// SPDX-License-Identifier: MIT
// Shows a message if a file of the page could not be loaded, for example because
// the server has too many connections.  The modules cannot do this: if one is
// missing, none of them runs.

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

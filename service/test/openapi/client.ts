// SPDX-License-Identifier: MIT
// A client whose types openapi-typescript has made of /v1/openapi.json.  It
// compiles, and what is wrong does not; then it runs.

import createClient from "openapi-fetch";
import { readFileSync } from "node:fs";
import type { paths } from "./api";

const [, , baseUrl, photo] = process.argv;
const api = createClient<paths>({ baseUrl });
const body = new Blob([new Uint8Array(readFileSync(photo))]) as never;
const asItIs = { body, bodySerializer: (b: unknown) => b as never };

const stored = await api.POST("/v1/images", {
	params: { query: { w: 64, fit: "inside", placeholder: "1" } }, ...asItIs,
});
if (!stored.data || !("variants" in stored.data))
	throw new Error(stored.error?.detail);
const id: string = stored.data.id;
const width: number = stored.data.variants[0].width;

const image = await api.GET("/v1/images/{id}", { params: { path: { id } } });
if (typeof image.data === "object" && "source" in image.data)
	console.log(width, image.data.source.width);

const refused = await api.POST("/v1/images", {
	params: { query: { w: 64, crop: "9999,9999,5,5" } }, ...asItIs,
});
if (refused.error?.code === "crop_outside")
	console.log(refused.error.code, refused.error.status);

// @ts-expect-error: no such value
api.POST("/", { params: { query: { fit: "over" } } });
// @ts-expect-error: no such parameter
api.POST("/", { params: { query: { wide: 5 } } });
// @ts-expect-error: no such path
api.GET("/v1/image");
// @ts-expect-error: no such code
refused.error?.code === "outside";
// @ts-expect-error: it has no such member
stored.data.height;

// SPDX-License-Identifier: MIT
// The description of the API is valid and true: see test_openapi.sh.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv/dist/2020.js";

const { MAIN, KEYS, SMALL, PLAIN, BLOCKING, STORE, WORK, SAMPLES } =
	process.env;
const here = fileURLToPath(new URL(".", import.meta.url));
const modules = join(here, "node_modules");
const file = `${SAMPLES}/clownfish.jpg`;
const photo = readFileSync(file);
const api = await (await fetch(`${MAIN}/v1/openapi.json`)).json();
const tus = { "Tus-Resumable": "1.0.0" };
const partType = { "Content-Type": "application/offset+octet-stream" };

const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(api, "api");

function follow(o) {
	return o.$ref ? o.$ref.slice(2).split("/").reduce((at, key) => at[key], api)
		: o;
}

function operation(id) {
	for (const [path, methods] of Object.entries(api.paths))
		for (const [method, o] of Object.entries(methods))
			if (o.operationId === id)
				return { path, method: method.toUpperCase(), ...o };
	throw new Error(`no operation ${id}`);
}

const used = new Set();

// The schema of this JSON, which the description must have.
function check(described, status, type, json) {
	const response = follow(described.responses[status] ??
		described.responses[`${Math.floor(status / 100)}XX`] ??
		assert.fail(`${described.operationId}: ${status} is not described`));
	const kinds = Object.keys(response.content ?? {});
	const kind = type?.split(";")[0] ?? "";
	const found = kinds.find((k) => k === kind ||
		(k.endsWith("/*") && kind.startsWith(k.slice(0, -1))));

	assert.equal(Boolean(found), kind !== "",
		`${described.operationId}: ${status} has type ${type}`);
	const schema = found && response.content[found].schema;
	if (json === undefined || !schema)
		return;
	const valid = ajv.compile(schema.$ref ? { $ref: `api${schema.$ref}` }
		: schema);
	assert.ok(valid(json), `${described.operationId} ${status}: ` +
		JSON.stringify(valid.errors));
}

// Sends a request, and compares the reply with the description.
async function call(id, { server = MAIN, path = {}, query = "", headers = {},
	body, ...more } = {}) {
	const described = operation(id);
	const where = described.path.replace(/\{(\w+)\}/g, (_, name) => path[name]);
	const reply = await fetch(`${server}${where}${query}`, {
		method: described.method, headers, body, ...more,
	});
	const type = reply.headers.get("content-type");
	const bytes = new Uint8Array(await reply.arrayBuffer());
	const json = type?.includes("json") && bytes.length > 0
		? JSON.parse(new TextDecoder().decode(bytes)) : undefined;

	used.add(id);
	check(described, reply.status, bytes.length > 0 ? type : undefined, json);
	return { status: reply.status, headers: reply.headers, json, bytes };
}

test("it is valid", async () => {
	const { valid, errors } = await new Validator().validate(
		structuredClone(api));

	assert.ok(valid, JSON.stringify(errors));
	for (const methods of Object.values(api.paths))
		for (const o of Object.values(methods))
			assert.ok(o.summary && o.operationId, JSON.stringify(o));
});

// The values that a parameter's schema allows, as examples.
function valuesOf(parameter) {
	const { schema, example } = parameter;
	const values = new Set([example]);

	for (const value of schema.enum ?? [])
		values.add(value);
	for (const value of [schema.minimum, schema.maximum, schema.default])
		if (value !== undefined)
			values.add(value);
	return [...values].flat();
}

// The other parameters of a value; most have a small box.
const needed = {
	w: "", h: "",
	gravity: "&w=64&h=64&fit=cover", focus: "&w=64&h=64&fit=cover",
};
// Values that are valid and refused here, by this code.
const refusedHere = {
	max_bytes: { 100: "max_bytes_too_small" },
};

test("each example and limit of a parameter is taken", async () => {
	for (const ref of operation("process").parameters) {
		const parameter = follow(ref);

		if (parameter.in !== "query")
			continue;
		for (const value of valuesOf(parameter)) {
			const with_ = needed[parameter.name] ?? "&w=64&h=64";
			const { status, json } = await call("process", {
				query: `?${parameter.name}=` +
					encodeURIComponent(value) + with_,
				body: photo,
			});
			const code = refusedHere[parameter.name]?.[value];

			assert.ok(code ? json?.code === code : status === 200,
				`${parameter.name}=${value}: ${status} ` +
				JSON.stringify(json?.detail ?? ""));
		}
	}
});

test("a value beyond a limit is refused", async () => {
	for (const ref of operation("process").parameters) {
		const { name, in: place, schema } = follow(ref);

		if (place !== "query" || schema.type === "array")
			continue;
		const wrong = schema.maximum !== undefined ? schema.maximum + 1 : "?";
		const { json } = await call("process", {
			query: `?${name}=${wrong}`, body: photo });

		assert.equal(json.code, "bad_parameter", `${name}=${wrong}`);
	}
});

test("results as a picture, multipart and JSON", async () => {
	await call("process", { query: "?w=64", body: photo });
	await call("processV1", {
		query: "?variant=a:w=64&variant=b:w=32", body: photo });
	const { json } = await call("process", {
		query: "?w=64&placeholder=1&pdq=1", body: photo,
		headers: { Accept: "application/json" } });
	assert.equal(json.source.width, 2000);
});

test("a stored image", async () => {
	const { json, status } = await call("storeImage", {
		query: "?w=64&placeholder=1&pdq=1", body: photo });
	const { id } = json;

	assert.equal(status, 201);
	await call("storeImage", { query: "?w=65&respond=decoded", body: photo });
	const { headers } = await call("getImage", { path: { id },
		query: "?wait=0.1" });
	assert.equal((await call("getImage", { path: { id },
		headers: { "If-None-Match": headers.get("etag") } })).status, 304);
	const path = { id, variant: "image" };
	await call("getPicture", { path });
	assert.equal((await call("getPicture", { path,
		headers: { Range: "bytes=0-9" } })).status, 206);
	assert.equal((await call("deleteImage", { path: { id } })).status, 204);
});

test("an image with its original", async () => {
	const { json: { id } } = await call("storeImage", {
		query: "?variant=thumb:w=64", body: photo });
	const path = { id };
	const original = await call("getOriginal", { path });

	assert.deepEqual(original.bytes, new Uint8Array(photo));
	assert.equal((await call("getOriginal", { path, headers: {
		Range: "bytes=0-9" } })).status, 206);
	const made = await call("getImage", { path, query: "?w=70" });
	assert.equal(made.status, 200);
	assert.equal((await call("getImage", { path, query: "?w=70", headers: {
		"If-None-Match": made.headers.get("etag") } })).status, 304);
	const added = await call("addVariants", { path,
		query: "?variant=page:w=80" });
	assert.equal(added.status, 201);
	assert.equal(added.json.variants.length, 3);
	const list = await call("listImages", {
		query: `?limit=10&prefix=${id.slice(0, 8)}&since=0&until=4000000000` });
	assert.deepEqual(list.json.images.map((i) => i.id), [id]);
});

test("tickets and resumable uploads", async () => {
	const make = async (headers = {}) => (await call("makeTicket", {
		query: "?w=64&max_body=1000000&lifetime=600", headers })).json.id;
	const state = async (id) => (await call("getTicket", { path: { id } })).json;
	let id = await make();

	assert.equal((await state(id)).state, "waiting");
	await call("putUpload", { path: { id }, body: photo.subarray(0, 3000) });
	assert.equal((await state(id)).state, "refused");
	await call("putUpload", { path: { id }, body: photo });
	assert.equal((await state(id)).state, "stored");
	id = await make();
	const form = new FormData();
	form.append("file", new Blob([photo]), "a.jpg");
	await call("postUpload", { path: { id }, body: form });
	id = await make({ ...tus, "Upload-Length": String(photo.length),
		"Upload-Metadata": "filename YS5qcGc=" });
	for (const [from, to] of [[0, 9000], [9000, photo.length]])
		assert.equal((await call("patchUpload", { path: { id },
			headers: { ...tus, ...partType, "Upload-Offset": String(from) },
			body: photo.subarray(from, to) })).status, 204);
	assert.equal((await state(id)).length, photo.length);
	await call("deleteTicket", { path: { id } });
});

test("reports", async () => {
	for (const id of ["isAlive", "isReady", "getMetrics", "getStats", "getLoad",
		"getEstimates", "getDescription"])
		assert.equal((await call(id)).status, 200, id);
	assert.equal((await call("getTrace", { query: "?ms=10" })).status, 200);
	await call("getBlockingGraph");
	const live = await fetch(`${MAIN}/v1/live`);
	check(operation("watch"), live.status, live.headers.get("content-type"));
	used.add("watch");
	await live.body.cancel();
});

// Sends this text as a request; the reply's status and JSON.
function raw(text, server = MAIN) {
	const { port } = new URL(server);

	return new Promise((resolve, reject) => {
		const socket = connect(port, "127.0.0.1", () => socket.write(text));
		let reply = "";

		socket.setEncoding("utf8");
		socket.on("data", (data) => {
			reply += data;
			const end = reply.indexOf("\r\n\r\n");
			try {
				const json = JSON.parse(reply.slice(end + 4));
				resolve({ status: Number(reply.split(" ")[1]), json });
				socket.destroy();
			} catch {
				// not all of it has come
			}
		});
		socket.on("error", reject);
		socket.on("close", () => reject(new Error(`closed: ${reply}`)));
	});
}

function head(line, ...fields) {
	return [line, "Host: localhost", ...fields, "", ""].join("\r\n");
}

const upload = (query, more = {}) =>
	call("process", { query, body: photo, ...more });
const formOf = (...parts) => {
	const form = new FormData();

	for (const [name, value, filename] of parts)
		filename ? form.append(name, new Blob([value]), filename)
			: form.append(name, value);
	return { body: form };
};
const bytesOf = async (query) => (await upload(query)).bytes;
const cut = (bytes) => bytes.subarray(0, bytes.length - 200);
const changed = (bytes, at, value) => {
	const copy = Uint8Array.from(bytes);
	copy[at] = value;
	return copy;
};
// The precision of the frame header of a JPEG.
const precisionAt = (bytes) => bytes.findIndex((b, i) =>
	b === 0xff && (bytes[i + 1] === 0xc0 || bytes[i + 1] === 0xc2)) + 4;
const signed = (expires, key = "fedcba9876543210") => {
	const text = `POST\n/\nexpires=${expires}\nw=64\n`;
	const hmac = createHmac("sha256", key).update(text).digest("hex");

	return upload(`?w=64&expires=${expires}&signature=${hmac}`,
		{ server: KEYS });
};
const ticket = async (headers = {}) => (await call("makeTicket",
	{ query: "?w=64", headers })).json.id;
const part = (id, headers, body = photo) => call("patchUpload", {
	path: { id }, headers: { ...tus, ...partType, ...headers }, body });
const missing = "0".repeat(64);

// How a request causes each error.
const causes = {
	bad_request: () => raw(head("GET / HTTP/1.1", "Two : 2")),
	bad_parameter: () => upload("?w=x"),
	bad_timeout: () => upload("", { headers: { "Request-Timeout": "x" } }),
	bad_form: () => upload("", { body: "x",
		headers: { "Content-Type": "multipart/form-data" } }),
	no_file: () => upload("", formOf(["w", "64"])),
	second_file: () => upload("", formOf(["a", photo, "a.jpg"],
		["b", photo, "b.jpg"])),
	empty_body: () => upload("", { body: "" }),
	bad_upload: () => call("makeTicket", { headers: { ...tus,
		"Upload-Length": "x" } }),
	bad_digest: () => upload("", { headers: { "Content-MD5": "x" } }),
	digest_mismatch: () => upload("", { headers: {
		"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA==" } }),
	unauthorized: () => upload("", { server: KEYS }),
	invalid_key: () => upload("", { server: KEYS,
		headers: { Authorization: "Bearer 9999999999999999" } }),
	key_not_allowed: () => upload("", { server: KEYS,
		headers: { Authorization: "Bearer 0011223344556677" } }),
	bad_signature: () => signed(4e9, "another"),
	signature_expired: () => signed(5),
	cross_site: () => upload("", { headers: {
		"Sec-Fetch-Site": "cross-site" } }),
	webhook_not_allowed: () => call("makeTicket", {
		query: "?w=64&webhook=https://shop.example/" }),
	wrong_host: () => raw("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
	not_found: () => call("getImage", { path: { id: missing } }),
	no_original: () => call("getOriginal", { path: { id: missing } }),
	variant_exists: async () => {
		const { json: { id } } = await call("storeImage", {
			query: "?variant=a:w=64", body: photo });

		return call("addVariants", { path: { id }, query: "?variant=a:w=65" });
	},
	no_store: () => call("getImage", { server: PLAIN, path: { id: missing } }),
	no_trace: () => call("getTrace", { server: PLAIN }),
	no_blocking_graph: () => call("getBlockingGraph"),
	method_not_allowed: () => raw(head("PUT / HTTP/1.1",
		"Content-Length: 0")),
	length_required: () => raw(head("POST / HTTP/1.1")),
	wrong_offset: async () => part(await ticket({ ...tus,
		"Upload-Length": "9" }), { "Upload-Offset": "5" }, "abc"),
	upload_ended: async () => {
		const path = { id: await ticket() };

		await call("putUpload", { path, body: photo });
		return call("putUpload", { path, body: photo });
	},
	upload_expired: () => call("getTicket", { path: { id: missing } }),
	precondition_failed: async () => {
		const { json } = await call("storeImage", { query: "?w=66",
			body: photo });

		return call("deleteImage", { path: { id: json.id },
			headers: { "If-Match": '"x"' } });
	},
	tus_version: async () => part(await ticket(), { "Upload-Offset": "0",
		"Tus-Resumable": "0.1.0" }),
	body_too_large: () => upload("", { body: new Uint8Array(3 << 20) }),
	picture_too_large: () => upload("", { server: SMALL }),
	output_too_large: () => upload("?w=640", { server: PLAIN }),
	too_much_cpu: async () => upload("?format=webp&effort=9&blur=100", {
		server: SMALL, body: await bytesOf("?w=1100") }),
	target_too_long: () => raw(head(`GET /?${"a".repeat(17000)} HTTP/1.1`)),
	headers_too_large: () => raw(head("GET / HTTP/1.1",
		...Array.from({ length: 300 }, (_, i) => `X-${i}: 1`))),
	bad_range: async () => {
		const { json } = await call("storeImage", { query: "?w=67",
			body: photo });

		return call("getPicture", { path: { id: json.id, variant: "image" },
			headers: { Range: "bytes=9999999-" } });
	},
	not_a_jpeg: () => upload("", { body: "some text" }),
	unsupported_jpeg: async () => {
		const bytes = await bytesOf("?w=64");

		return upload("", { body: changed(bytes, precisionAt(bytes), 12) });
	},
	expectation_failed: () => raw(head("POST / HTTP/1.1", "Content-Length: 5",
		"Expect: wonders")),
	corrupt_jpeg: async () => {
		const bytes = await bytesOf("?w=64");

		return upload("", { body: changed(bytes, precisionAt(bytes) - 1, 3) });
	},
	truncated_jpeg: () => upload("", { body: cut(photo) }),
	truncated_picture: async () => upload("", {
		body: cut(await bytesOf("?w=64&format=png")) }),
	corrupt_picture: async () => upload("", {
		body: changed(await bytesOf("?w=64&format=png"), 20, 255) }),
	blocked: () => upload("", { server: BLOCKING }),
	crop_outside: () => upload("?crop=9999,0,5,5"),
	max_bytes_too_small: () => upload("?max_bytes=100"),
	too_many_scans: async () => upload("", { server: SMALL,
		body: await bytesOf("?w=64&progressive=1") }),
	upload_busy: async () => {
		const id = await ticket({ ...tus, "Upload-Length": "9000" });
		const socket = connect(new URL(MAIN).port, "127.0.0.1");

		socket.on("error", () => {});
		socket.write(head(`PATCH /v1/uploads/${id} HTTP/1.1`,
			"Tus-Resumable: 1.0.0", "Upload-Offset: 0",
			"Content-Type: application/offset+octet-stream",
			"Content-Length: 9000"));
		let reply;
		do
			reply = await part(id, { "Upload-Offset": "1" }, "x");
		while (reply.status !== 423);
		socket.destroy();
		return reply;
	},
	checksum_mismatch: async () => part(await ticket({ ...tus,
		"Upload-Length": "9" }), { "Upload-Offset": "0",
		"Upload-Checksum": "md5 AAAAAAAAAAAAAAAAAAAAAA==" }, "abc"),
	deadline_exceeded: () => upload("", { headers: {
		"Request-Timeout": "0.000001" } }),
	too_many_viewers: async () => {
		const stops = [];
		let reply;

		for (let i = 0; i < 12 && reply?.status !== 503; i++) {
			const stop = new AbortController();

			stops.push(stop);
			reply = await fetch(`${MAIN}/v1/live`, { signal: stop.signal });
		}
		const json = await reply.json();
		stops.forEach((stop) => stop.abort());
		return { status: reply.status, json };
	},
	store_full: async () => call("storeImage", { server: SMALL,
		body: await bytesOf("?w=64") }),
	image_damaged: async () => {
		const { json } = await call("storeImage", { query: "?w=68",
			body: photo });

		writeFileSync(join(STORE, json.id.slice(0, 2), json.id, "image.jpg"),
			"x");
		return call("getPicture", { path: { id: json.id, variant: "image" } });
	},
	version_unknown: () => raw(head("GET / HTTP/3.0")),
};

// What no request alone can cause, and the test that causes it.
const elsewhere = {
	too_many_variants: "service_originals", no_inbox: "service_tickets", request_timeout: "service_slow",
	unsupported_picture: "imgops", decoder_lost: "service_isolate",
	decoder_down: "service_isolate", too_much_memory: "service_chunked",
	overloaded: "service_control", memory_full: "service_chunked",
	deadline_unreachable: "service_deadline", stopping: "service_stop",
	not_ready: "service_control", trace_busy: "service_control",
	out_of_memory: "service_faults", store_failed: "service_images",
	store_unavailable: "service_s3", process_ended: "service_spool",
	webhooks_full: "service_hooks",
};

test("every error is as it says", async () => {
	const table = api.components.schemas.Problem.properties.code["x-problems"];
	const valid = ajv.compile({ $ref: "api#/components/schemas/Problem" });

	assert.deepEqual(Object.keys(table).filter((code) => !elsewhere[code]).sort(),
		Object.keys(causes).sort());
	for (const [code, cause] of Object.entries(causes)) {
		const { status, json } = await cause();

		assert.equal(json?.code, code, `${status} ${JSON.stringify(json)}`);
		assert.equal(status, table[code].status, code);
		assert.ok(valid(json), `${code}: ${JSON.stringify(valid.errors)}`);
	}
});

test("every operation was used", () => {
	const all = Object.values(api.paths).flatMap((methods) =>
		Object.values(methods).map((o) => o.operationId));

	assert.deepEqual(all.filter((id) => !used.has(id)), []);
});

test("a client in TypeScript compiles and works", () => {
	const run = (program, ...args) => execFileSync(process.execPath,
		[join(modules, program), ...args], { cwd: WORK, encoding: "utf8" });

	writeFileSync(join(WORK, "openapi.json"), JSON.stringify(api));
	writeFileSync(join(WORK, "package.json"), '{"type":"module"}');
	copyFileSync(join(here, "client.ts"), join(WORK, "client.ts"));
	symlinkSync(modules, join(WORK, "node_modules"));
	run("openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.d.ts");
	run("typescript/bin/tsc", "--strict", "--target", "es2022", "--module",
		"esnext", "--moduleResolution", "bundler", "--skipLibCheck",
		"--lib", "es2022,dom", "client.ts");
	assert.equal(execFileSync(process.execPath, ["client.js", MAIN, file],
		{ cwd: WORK, encoding: "utf8" }), "64 2000\ncrop_outside 422\n");
});

// SPDX-License-Identifier: MIT
// sharp alone, without HTTP, on one thread and without its cache: what
// imgops_bench is measured against.  Prints JSON.
//
// usage: node inprocess.js --dataset DIR [--w N] [--h N] [--blur S] [--q N]
//                          [--passes N] [--max-bytes N] [--save DIR] [--linear]
//                          [--fine] [--mozjpeg]
//   --passes   0: only --save, in one pass
//   --linear   scale in linear light
//   --fine     let the JPEG decoder shrink less (fastShrinkOnLoad: false)
//   --mozjpeg  encode with mozjpeg's ways to save bytes
const fs = require('fs')
const path = require('path')
const { parseArgs } = require('util')
const sharp = require('sharp')

const text = (initial) => ({ type: 'string', default: initial })
const { values: options } = parseArgs({
	options: {
		dataset: { type: 'string' },
		w: text('640'),
		h: text('640'),
		blur: text('2'),
		q: text('80'),
		passes: text('3'),
		'max-bytes': text('Infinity'),
		save: { type: 'string' },
		linear: { type: 'boolean' },
		fine: { type: 'boolean' },
		mozjpeg: { type: 'boolean' },
	},
})

function load(dir) {
	return fs
		.readdirSync(dir, { recursive: true })
		.filter((name) => /\.jpe?g$/i.test(name) && !/(^|\/)\./.test(name))
		.sort()
		.map((name) => ({ name, bytes: fs.readFileSync(path.join(dir, name)) }))
		.filter((file) => file.bytes.length < Number(options['max-bytes']))
}

async function make(bytes) {
	const blur = Number(options.blur)
	let picture = sharp(bytes).rotate()

	if (options.linear)
		picture = picture.pipelineColourspace('scrgb').toColourspace('srgb')
	picture = picture.resize({
		width: Number(options.w),
		height: Number(options.h),
		fit: 'inside',
		withoutEnlargement: true,
		fastShrinkOnLoad: !options.fine,
	})
	if (blur > 0) picture = picture.blur(blur)
	return picture
		.jpeg({ quality: Number(options.q), mozjpeg: !!options.mozjpeg })
		.toBuffer()
}

// Refuses once, in the pass that warms up; later passes leave those out.
async function warmUp(files) {
	const result = { accepted: [], refused: [], bytes_out: 0 }

	for (const file of files) {
		try {
			const jpeg = await make(file.bytes)

			result.accepted.push(file)
			result.bytes_out += jpeg.length
			if (options.save) {
				const to = path.join(options.save, file.name)

				fs.mkdirSync(path.dirname(to), { recursive: true })
				fs.writeFileSync(to, jpeg)
			}
		} catch (error) {
			result.refused.push({ path: file.name, error: String(error) })
		}
	}
	return result
}

async function main() {
	sharp.concurrency(1)
	sharp.cache(false)

	const { accepted, refused, bytes_out } = await warmUp(load(options.dataset))
	const passes = Number(options.passes)
	const before = process.cpuUsage()

	for (let i = 0; i < passes; i++)
		for (const file of accepted) await make(file.bytes)

	const used = process.cpuUsage(before)
	const cpu_s = (used.user + used.system) / 1e6

	console.log(JSON.stringify({
		images: accepted.length,
		images_per_cpu_s: accepted.length * passes / cpu_s,
		cpu_s,
		passes,
		bytes_out,
		refused,
		versions: sharp.versions,
	}))
}

main()

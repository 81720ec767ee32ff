// SPDX-License-Identifier: MIT
// The smallest honest upload service on Node + sharp, to measure against:
// POST a picture to /?w=640&h=640&blur=2&q=80&format=webp&effort=4, get it scaled,
// blurred and encoded.
// Listens on a free port of this machine, or on PORT.
const http = require('http')
const sharp = require('sharp')

const server = http.createServer((request, reply) => {
	const chunks = []
	const query = new URL(request.url, 'http://localhost').searchParams
	const number = (name, initial) => Number(query.get(name) || initial)

	request.on('data', (chunk) => chunks.push(chunk))
	request.on('end', async () => {
		try {
			let picture = sharp(Buffer.concat(chunks)).rotate().resize({
				width: number('w', 16384),
				height: number('h', 16384),
				fit: 'inside',
				withoutEnlargement: true,
			})
			if (number('blur', 0) > 0) picture = picture.blur(number('blur', 0))
			const format = query.get('format') || 'jpeg'
			const how = { quality: number('q', 80) }
			if (query.has('effort')) how.effort = number('effort', 0)
			if (format === 'png') delete how.quality // else a palette
			const result = await picture.toFormat(format, how).toBuffer()
			reply.writeHead(200, {
				'Content-Type': 'image/' + format,
				'Content-Length': result.length,
			})
			reply.end(result)
		} catch (error) {
			reply.writeHead(422)
			reply.end(String(error))
		}
	})
})

server.listen(Number(process.env.PORT || 0), '127.0.0.1', () =>
	console.error(`peer sharp: listening (port ${server.address().port})`))

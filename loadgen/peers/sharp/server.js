// SPDX-License-Identifier: MIT
// The smallest honest upload service on Node + sharp, to measure against:
// POST a JPEG to /?w=640&h=640&blur=2&q=80, get it scaled and blurred.
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
			const jpeg = await picture.jpeg({ quality: number('q', 80) }).toBuffer()
			reply.writeHead(200, {
				'Content-Type': 'image/jpeg',
				'Content-Length': jpeg.length,
			})
			reply.end(jpeg)
		} catch (error) {
			reply.writeHead(422)
			reply.end(String(error))
		}
	})
})

server.listen(Number(process.env.PORT || 0), '127.0.0.1', () =>
	console.error(`peer sharp: listening (port ${server.address().port})`))

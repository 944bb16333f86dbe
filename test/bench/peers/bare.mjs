import { createServer } from 'node:http'

const server = createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'))
})
server.listen(Number(process.env.PORT), () => process.stdout.write(`{"port":${server.address().port}}\n`))

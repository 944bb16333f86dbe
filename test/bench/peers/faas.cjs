// faas-js-runtime with a function that does nothing, started as its own command does it.
const { start } = require(process.env.RUNTIME)

start(() => '{}', { port: process.env.PORT, logLevel: 'warn' }).then((server) =>
  process.stdout.write(`{"port":${server.address().port}}\n`),
)
